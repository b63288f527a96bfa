"""Completions between quotes: the same text comes out, and what stands there is a word."""

from typing import ClassVar

import pytest
from lsprotocol import types as lsp

from abey.daemon.editors.quoting import between_quotes
from abey.language.text import Text


def edit_at(source: str, new: str) -> tuple[Text, int, lsp.CompletionItem]:
    """`source` with `|` at the cursor and the edited part in `[` and `]`."""
    plain = source.replace("|", "").replace("[", "").replace("]", "")
    offset = source.replace("[", "").replace("]", "").index("|")
    bare = source.replace("|", "")
    start, end = bare.index("["), bare.index("]") - 1
    text = Text(plain)
    return (
        text,
        offset,
        lsp.CompletionItem("name", text_edit=lsp.TextEdit(text.range(start, end), new), filter_text=new),
    )


def taken(text: Text, item: lsp.CompletionItem) -> tuple[str, str, str]:
    """What the edit replaces, what it writes, and the whole text then."""
    edit = item.text_edit
    assert isinstance(edit, lsp.TextEdit)
    start, end = text.offset(edit.range.start), text.offset(edit.range.end)
    return text.source[start:end], edit.new_text, text.source[:start] + edit.new_text + text.source[end:]


@pytest.mark.parametrize(
    ("source", "new", "replaced", "written"),
    [
        ('{["n|a"]: 1}', '"name"', "na", "name"),
        ('{["|"]: 1}', '"name"', "", "name"),
        ('{["n|a]', '"name"', "na", "name\""),
        ('{["n|a"]}', '"name": 1', "na\"", "name\": 1"),
        ('{["na"|]: 1}', '"name"', "na\"", "name\""),
        ('{[|"na"]: 1}', '"name"', '"na"', '"name"'),
        ("{[|]}", '"name": ', "", '"name": '),
        ("{[n|a]}", '"name": ', "na", '"name": '),
        ('{["|]', '"', "", ""),
        ('{["ü𝄞|"]: 1}', '"ü𝄞x"', "ü𝄞", "ü𝄞x"),
        ('["tr|ue"]', "true", '"true"', "true"),
    ],
)  # fmt: skip
def test_an_edit_of_a_string_keeps_the_quotes_that_are_there(
    source: str, new: str, replaced: str, written: str
) -> None:
    text, offset, item = edit_at(source, new)
    [moved] = between_quotes([item], text, offset)
    assert taken(text, moved) == (replaced, written, taken(text, item)[2])


def test_what_is_sought_is_the_word() -> None:
    text, offset, item = edit_at('{["n|a"]: 1}', '"name"')
    [moved] = between_quotes([item], text, offset)
    assert (moved.label, moved.filter_text, item.filter_text) == ("name", "name", '"name"')


def test_an_item_without_an_edit_stays_as_it_is() -> None:
    item = lsp.CompletionItem("name")
    assert between_quotes([item], Text('"n"'), 1) == [item]


class Counting(Text):
    """Notes what it is asked to count: in a long line each count takes a while."""

    asked: ClassVar[list[lsp.Position]] = []

    def offset(self, position: lsp.Position) -> int:
        self.asked.append(position)
        return Text.offset(self, position)


def test_hundreds_of_items_for_one_place_are_counted_once() -> None:
    text, offset, item = edit_at('{["n|a"]: 1}', '"name"')
    counting = Counting(text.source)
    moved = between_quotes([item] * 500, counting, offset)
    assert [taken(text, one)[:2] for one in moved] == [("na", "name")] * 500
    assert counting.asked == [lsp.Position(0, 1), lsp.Position(0, 5)]
