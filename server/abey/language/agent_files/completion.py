"""What may be written where the cursor is: fields, words, names; the text that makes the file right around it, too."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from abey.language.agent_files import grammar, offers, skeleton
from abey.language.agent_files.cursor import Place, place
from abey.language.agent_files.layout import written
from abey.language.agent_files.markup import Markup, completion_item, for_completion
from abey.language.agent_files.offers import Offer, Spot
from abey.language.agent_files.skeleton import Sketch
from abey.language.agent_files.view import POLICIES, View
from abey.shared.escaping import cut, escape_line

_LABEL = 100


def completion(view: View, offset: int) -> list[lsp.CompletionItem]:
    where = place(view.tree, offset)
    if where is None or not view.is_ours:
        return []
    writer = _Writer(view, where)
    found = _keys(view, where, writer) if where.role == "key" else _values(view, where, writer)
    return [_sorted(item, at) for at, item in enumerate(found)]


class _Writer:
    """Makes items for one place."""

    def __init__(self, view: View, where: Place) -> None:
        item = completion_item(view.asker.capabilities)
        self.markup: Markup = for_completion(view.asker.capabilities)
        self._snippets = bool(item and item.snippet_support)
        self._where = where
        self._range = view.range(where.start, where.end)

    def item(
        self, label: str, kind: lsp.CompletionItemKind, sketch: Sketch, detail: str, words: str, said: str = ""
    ) -> lsp.CompletionItem:
        """One that writes `sketch`; `said` is text of the file."""
        before, after = ", " if self._where.lead else "", "," if self._where.trail else ""
        with_stops = self._snippets and sketch.stops[0] > 0
        text = sketch.snippet if with_stops else sketch.plain
        paragraphs = [words, self.markup.block(said) if said else ""]
        return lsp.CompletionItem(
            label=cut(escape_line(label), _LABEL),
            kind=kind,
            detail=detail or None,
            documentation=self.markup.content(paragraphs) if any(paragraphs) else None,
            filter_text=self._filter(label),
            insert_text_format=lsp.InsertTextFormat.Snippet if with_stops else lsp.InsertTextFormat.PlainText,
            text_edit=lsp.TextEdit(self._range, f"{before}{text}{after}"),
        )

    def _filter(self, label: str) -> str:
        """Begins as what stands there does: with a quote, or without."""
        token = self._where.token
        return written(label) if token is not None and token.kind == "string" else label


def _keys(view: View, where: Place, writer: _Writer) -> Iterator[lsp.CompletionItem]:
    inside = view.tree.at(where.path)
    there = {entry.name for entry in (inside.entries if inside else ()) if entry.key is not where.token}
    offered = offers.keys(view.tree, where.path)
    fields = [] if offered else grammar.fields(view.tree, where.path)
    both = set(POLICIES)
    for field in fields:
        hidden = field.name in there or field.deprecated or (field.name in both and both & there)
        if not hidden:
            detail = f"{grammar.type_name(field.schema)}{', required' if field.required else ''}"
            sketch = _member(field.name, where)
            kind = lsp.CompletionItemKind.Property
            yield writer.item(
                field.name, kind, skeleton.value(field.schema, sketch) if where.bare else sketch, detail, field.words
            )
    for offer in offered:
        if offer.value not in there:
            sketch = _member(str(offer.value), where)
            sketch = sketch.stop("null") if where.bare else sketch
            yield writer.item(
                str(offer.value), lsp.CompletionItemKind.Property, sketch, offer.detail, offer.words, offer.said
            )


def _member(name: str, where: Place) -> Sketch:
    return Sketch().write(f"{written(name)}: " if where.bare else written(name))


def _values(view: View, where: Place, writer: _Writer) -> Iterator[lsp.CompletionItem]:
    for word in grammar.words(view.tree, where.path):
        yield writer.item(
            str(word.value) if isinstance(word.value, str) else written(word.value),
            lsp.CompletionItemKind.EnumMember,
            Sketch().write(written(word.value)),
            "",
            word.words,
        )
    for offer in offers.values(Spot(view.tree, where.path, view.asker.env or {})):
        yield _offered(offer, writer)
    if where.token is None:
        yield from _objects(view, where, writer)


def _offered(offer: Offer, writer: _Writer) -> lsp.CompletionItem:
    label = offer.value if isinstance(offer.value, str) else written(offer.value)
    kind = lsp.CompletionItemKind.Value
    return writer.item(label, kind, Sketch().write(written(offer.value)), offer.detail, offer.words, offer.said)


def _objects(view: View, where: Place, writer: _Writer) -> Iterator[lsp.CompletionItem]:
    """A whole object, with what it must have: one for each kind of thing that it may be."""
    for schema in grammar.schemas(view.tree, where.path):
        needed = skeleton.needed(schema) if "properties" in schema else []
        tag = next((sub["const"] for sub in schema.get("properties", {}).values() if "const" in sub), None)
        if len(needed) > (tag is not None):
            label = f"{{ {tag or ', '.join(needed)} }}"
            sketch = skeleton.members(schema, Sketch())
            words = str(schema.get("description", ""))
            yield writer.item(label, lsp.CompletionItemKind.Struct, sketch, "", words)


def _sorted(item: lsp.CompletionItem, at: int) -> lsp.CompletionItem:
    """In our order, whatever the client would make of the labels."""
    item.sort_text = f"{at:04}"
    return item
