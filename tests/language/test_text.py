"""Offsets and positions: what an editor counts and what Python counts name the same character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from abey.language.text import Text

UTF_8, UTF_16, UTF_32 = lsp.PositionEncodingKind.Utf8, lsp.PositionEncodingKind.Utf16, lsp.PositionEncodingKind.Utf32
CODECS = {UTF_8: ("utf-8", 1), UTF_16: ("utf-16-le", 2), UTF_32: ("utf-32-le", 4)}

characters = st.one_of(
    st.sampled_from(["a", "é", "€", "😀", "\ud83d", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\t", "\r", "\n"]),
    st.characters(codec=None),
)
sources = st.text(characters, max_size=40)
encodings = st.sampled_from([UTF_8, UTF_16, UTF_32, "utf-8", "utf-16", "utf-32"])


def lines_of(source: str) -> list[str]:
    """Lines as LSP has them, without what ends them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def units(text: str, encoding: lsp.PositionEncodingKind | str) -> int:
    codec, size = CODECS[lsp.PositionEncodingKind(encoding)]
    return sum(len(character.encode(codec, "surrogatepass")) // size for character in text)


def within_a_break(source: str, offset: int) -> bool:
    return source[offset - 1 : offset + 1] == "\r\n"


@given(sources, encodings, st.data())
def test_every_offset_comes_back_from_its_position(
    source: str, encoding: lsp.PositionEncodingKind | str, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, len(source)).filter(lambda one: not within_a_break(source, one)))
    text = Text(source, encoding)
    assert text.offset(text.position(offset)) == offset


@given(sources, encodings, st.data())
def test_a_position_is_the_line_and_the_units_before_it(
    source: str, encoding: lsp.PositionEncodingKind | str, data: st.DataObject
) -> None:
    lines = lines_of(source)
    line = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, len(lines[line])))
    position = lsp.Position(line, units(lines[line][:column], encoding))
    text = Text(source, encoding)
    offset = text.offset(position)
    assert (text.position(offset), offset >= column, source[offset - column : offset]) == (
        position,
        True,
        lines[line][:column],
    )


@given(sources, encodings, st.integers(0, 60), st.integers(0, 2**31 - 1) | st.integers(0, 60))
def test_every_position_has_an_offset_on_its_line_and_never_after_it(
    source: str, encoding: lsp.PositionEncodingKind | str, line: int, character: int
) -> None:
    text = Text(source, encoding)
    offset = text.offset(lsp.Position(line, character))
    found = text.position(offset)
    assert 0 <= offset <= len(source)
    assert (found.line, found.character <= character or line > found.line) == (
        min(line, len(lines_of(source)) - 1),
        True,
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [("a\r\nb\rc\nd", 4), ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg", 1), ("", 1), ("\n\r", 3), ("\r\n\r\n", 3)],
)
def test_a_line_ends_with_cr_lf_or_both_and_with_nothing_else(source: str, lines: int) -> None:
    assert Text(source).position(len(source)).line + 1 == lines


def test_an_offset_within_a_line_break_is_the_end_of_the_line() -> None:
    text = Text("ab\r\ncd")
    assert [text.position(offset) for offset in (2, 3, 4)] == [
        lsp.Position(0, 2),
        lsp.Position(0, 2),
        lsp.Position(1, 0),
    ]


@pytest.mark.parametrize(
    ("encoding", "columns"), [(UTF_8, [0, 1, 5, 8]), (UTF_16, [0, 1, 3, 4]), (UTF_32, [0, 1, 2, 3])]
)
def test_an_astral_character_is_as_wide_as_its_encoding(encoding: lsp.PositionEncodingKind, columns: list[int]) -> None:
    text = Text("a😀€", encoding)
    assert [text.position(offset).character for offset in range(4)] == columns


@pytest.mark.parametrize(("encoding", "inside"), [(UTF_8, [2, 3, 4]), (UTF_16, [2]), (UTF_32, [])])
def test_a_position_within_a_character_is_its_start(encoding: lsp.PositionEncodingKind, inside: list[int]) -> None:
    text = Text("a😀b", encoding)
    assert [text.offset(lsp.Position(0, character)) for character in inside] == [1] * len(inside)


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((1, 99), 5), ((2, 0), 5), ((2**31 - 1, 2**31 - 1), 5)],
)
def test_what_is_past_the_end_is_the_end(position: tuple[int, int], offset: int) -> None:
    assert Text("ab\r\nc").offset(lsp.Position(*position)) == offset


def test_a_range_has_two_positions() -> None:
    assert Text("é\nab", UTF_8).range(0, 4) == lsp.Range(lsp.Position(0, 0), lsp.Position(1, 2))


def test_an_offset_past_the_end_is_the_end() -> None:
    assert Text("é\nab").position(99) == lsp.Position(1, 2)
