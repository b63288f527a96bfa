"""Output: whole while it fits, else head and tail, never half a character."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.runtime.tools.output import MAX_BYTES, Output


def collected(*chunks: bytes) -> str:
    output = Output()
    for chunk in chunks:
        output.add(chunk)
    return output.text()


@given(st.binary(max_size=200), st.integers(1, 7))
def test_what_fits_is_whole_however_it_is_cut_into_pieces(data: bytes, size: int) -> None:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert collected(*pieces) == data.decode("utf-8", "replace")


@given(st.binary(max_size=200), st.integers(1, 7))
def test_bytes_that_are_no_text_are_counted_however_it_is_cut_into_pieces(data: bytes, size: int) -> None:
    output = Output()
    for at in range(0, len(data), size):
        output.add(data[at : at + size])
    output.text()
    kept = data.decode("utf-8", "ignore").encode()
    assert output.foreign == len(data) - len(kept)


def test_every_piece_of_the_text_is_heard_at_once() -> None:
    heard: list[str] = []
    output = Output(heard.append)
    for chunk in (b"caf\xc3", b"\xa9 \xff", b"\xe2\x82"):
        output.add(chunk)
    output.text()
    assert heard == ["caf", "é \ufffd", "\ufffd"]


def test_what_no_longer_fits_is_a_head_and_a_tail() -> None:
    text = "".join(f"{line:07}\n" for line in range(100_000))
    head, count, tail = split(collected(text.encode()))
    assert (text.startswith(head), text.endswith(tail), len(head) + count + len(tail)) == (True, True, len(text))


@pytest.mark.parametrize("character", ["é", "€", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_no_character_is_cut(character: str, shift: int) -> None:
    data = (b"x" * shift) + character.encode() * 200_000
    text = collected(*(data[at : at + 65_537] for at in range(0, len(data), 65_537)))
    head, count, tail = split(text)
    assert (set(head + tail) <= {"x", character}, len((head + tail).encode()) + count) == (True, len(data))


@pytest.mark.parametrize("data", [b"x" * 5_000_000, b"\xff" * 5_000_000, "😀".encode() * 1_000_000])
def test_the_model_sees_at_most_a_quarter_of_a_mebibyte(data: bytes) -> None:
    assert MAX_BYTES - 100 < len(collected(data).encode()) <= MAX_BYTES


def test_output_of_the_very_limit_is_whole() -> None:
    limit = 2 * (MAX_BYTES // 2 - 32)
    assert (collected(b"x" * limit), "left out" in collected(b"x" * (limit + 1))) == ("x" * limit, True)


def split(text: str) -> tuple[str, int, str]:
    found = re.fullmatch(r"(.*)\n\[… (\d+) bytes left out …\]\n(.*)", text, re.DOTALL)
    assert found is not None
    return found[1], int(found[2]), found[3]
