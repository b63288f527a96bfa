"""Completions inside a JSON string, for editors that complete the word at the cursor.

An edit of `"na"` that writes `"name"` becomes one of `na` that writes `name`: the text comes out the same. eglot offers
only what begins with the word, to which no quote belongs, and ALE writes the quotes a second time.
"""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache

from lsprotocol import types as lsp

from abey.language.text import Text

_QUOTE = '"'


def between_quotes(items: Sequence[lsp.CompletionItem], text: Text, offset: int) -> list[lsp.CompletionItem]:
    """The items for a cursor at `offset`, with every edit between the quotes that are there and stay."""
    counted = _Counted(text)
    return [_between(item, counted, offset) for item in items]


class _Counted:
    """A text whose columns are counted once a place: hundreds of items have the same, and its line may be long."""

    def __init__(self, text: Text) -> None:
        self.source = text.source
        self.offset = lru_cache(lambda line, character: text.offset(lsp.Position(line, character)))
        self.range = lru_cache(text.range)


def _between(item: lsp.CompletionItem, text: _Counted, offset: int) -> lsp.CompletionItem:
    edit = item.text_edit
    if not isinstance(edit, lsp.TextEdit):
        return item
    first, last, new = edit.range.start, edit.range.end, edit.new_text
    start, end = text.offset(first.line, first.character), text.offset(last.line, last.character)
    if not (start < offset and text.source[start:end].startswith(_QUOTE) and new.startswith(_QUOTE)):
        return item
    start, new = start + 1, new[1:]
    if offset < end and text.source[start:end].endswith(_QUOTE) and new.endswith(_QUOTE):
        end, new = end - 1, new[:-1]
    moved = copy(item)
    moved.filter_text = (item.filter_text or item.label).strip(_QUOTE)
    moved.text_edit = lsp.TextEdit(text.range(start, end), new)
    return moved
