"""Output so far: whole while it fits, else its beginning and its end, with what is between them counted."""

import re

from hypothesis import given
from hypothesis import strategies as st

from abey.runtime.so_far import KEPT, SoFar
from abey.shared.escaping import whole_characters


def collected(*pieces: str) -> SoFar:
    so_far = SoFar()
    for piece in pieces:
        so_far.add(piece)
    return so_far


@given(st.text(max_size=200), st.integers(1, 9))
def test_what_fits_is_whole_however_it_comes(text: str, size: int) -> None:
    so_far = collected(*(text[at : at + size] for at in range(0, len(text), size)))
    assert (so_far.text(), so_far.size, so_far.end(7)) == (text, len(text), text[-7:])


@given(st.integers(0, 5 * KEPT), st.integers(1, 3 * KEPT))
def test_of_what_does_not_the_beginning_and_the_end_are_kept(length: int, size: int) -> None:
    text = "".join(map(chr, range(0x100, 0x200))) * (length // 256) + "é" * (length % 256)
    so_far = collected(*(text[at : at + size] for at in range(0, length, size)))
    found = re.fullmatch(r"(.*)\n\[… (\d+) characters left out …]\n(.*)", so_far.text(), re.DOTALL)
    head, left_out, tail = (found[1], int(found[2]), found[3]) if found else (text[:KEPT], 0, text[KEPT:])
    assert (head, left_out, tail) == (
        text[:KEPT],
        max(length - 2 * KEPT, 0),
        text[KEPT:][-KEPT:],
    )
    assert so_far.size == length


def test_an_endless_output_takes_little_memory() -> None:
    so_far = SoFar()
    for _ in range(1000):
        so_far.add("x" * 65_536)
    assert (so_far.size, sum(map(len, so_far.pieces)) <= 3 * KEPT) == (65_536_000, True)


def test_what_was_kept_before_is_whole() -> None:
    assert SoFar("x" * 3 * KEPT).text() == "x" * 3 * KEPT


def test_halves_of_characters_become_marks() -> None:
    texts = ("plain", "é😀", "ok \ud83d", "\ude00 \ud83d\ude00")
    assert [whole_characters(text) for text in texts] == ["plain", "é😀", "ok \ufffd", "\ufffd 😀"]
