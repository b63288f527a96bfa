"""What can be written at a cursor in JSON that has a JSON schema."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp

from abey.language.sessions.cursor import Place, place
from abey.language.sessions.harmless import harmless_line, json_text
from abey.language.text import Text

Schema = Mapping[str, Any]

ITEMS = 200
BRANCHES = 500
"""So many references and alternatives are looked at."""

_EMPTY = {"object": "{}", "array": "[]", "string": '""', "null": "null"}


def completion(schema: Schema, text: Text, offset: int) -> list[lsp.CompletionItem]:
    """The members that an object does not have yet, or the values that the schema names."""
    here = place(text.source, offset)
    if here is None:
        return []
    found: dict[str, lsp.CompletionItem] = {}
    for one in _at(schema, here.path):
        for item in _keys(one, here, text) if here.role == "key" else _values(one, here, text):
            found.setdefault(item.label, item)
    return list(found.values())[:ITEMS]


def _keys(schema: Schema, here: Place, text: Text) -> Iterator[lsp.CompletionItem]:
    required = schema.get("required")
    for name, inner in _object(schema.get("properties")).items():
        if name not in here.keys:
            must = isinstance(required, list) and name in required
            written = text.source[here.end :].lstrip().startswith(":")
            new = json_text(name) if written else f"{json_text(name)}: "
            yield _item(new, text, here, lsp.CompletionItemKind.Property, _object(inner), name, must=must)


def _values(schema: Schema, here: Place, text: Text) -> Iterator[lsp.CompletionItem]:
    named = [schema[key] for key in ("const", "default") if key in schema]
    named += [one for key in ("enum", "examples") for one in _list(schema.get(key))]
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "boolean":
            named += [True, False]
    for value in named:
        yield _item(json_text(value), text, here, lsp.CompletionItemKind.Value, schema, json.dumps(value))
    if not named:
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if isinstance(kind, str) and kind in _EMPTY:
                yield _item(_EMPTY[kind], text, here, lsp.CompletionItemKind.Value, schema, _EMPTY[kind])


def _item(
    new: str, text: Text, here: Place, kind: lsp.CompletionItemKind, schema: Schema, label: str, *, must: bool = False
) -> lsp.CompletionItem:
    said = schema.get("description")
    kinds = schema.get("type")
    detail = " or ".join(map(str, kinds)) if isinstance(kinds, list) else kinds
    return lsp.CompletionItem(
        label=harmless_line(label),
        kind=kind,
        detail=(f"{detail}, required" if must else detail) if isinstance(detail, str) else None,
        documentation=harmless_line(said, 1000) if isinstance(said, str) else None,
        sort_text=f"{0 if must else 1}{label}",
        filter_text=new.removesuffix(": "),
        text_edit=lsp.TextEdit(text.range(here.start, here.end), new),
    )


def _at(schema: Schema, path: Sequence[str | int]) -> list[Schema]:
    """The schemas of what is there, as far as they can be told without looking at the value."""
    found = _branches([schema], schema)
    for step in path:
        found = _branches([_below(one, step) for one in found], schema)
    return found


def _below(schema: Schema, step: str | int) -> Schema:
    if isinstance(step, int):
        before = _list(schema.get("prefixItems"))
        return _object(before[step] if step < len(before) else schema.get("items"))
    properties = _object(schema.get("properties"))
    return _object(properties[step] if step in properties else schema.get("additionalProperties"))


def _branches(schemas: Sequence[Schema], root: Schema) -> list[Schema]:
    """The schemas, what they refer to in their own document, and their alternatives: each once, and BRANCHES in all."""
    found: dict[int, Schema] = {}
    coming = list(schemas)
    while coming and len(found) < BRANCHES:
        one = coming.pop(0)
        if id(one) in found:
            continue
        found[id(one)] = one
        reference = one.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            coming.append(_resolved(root, reference))
        coming += [_object(inner) for key in ("allOf", "anyOf", "oneOf") for inner in _list(one.get(key))]
    return list(found.values())


def _resolved(root: Schema, reference: str) -> Schema:
    found: Any = root
    for part in reference.split("/")[1:]:
        found = _object(found).get(part.replace("~1", "/").replace("~0", "~"))
    return _object(found)


def _object(value: Any) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
