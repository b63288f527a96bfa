"""JSON in ASCII: what json.dumps writes, whichever of the two wrote it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.protocol.ascii_json import SHORT_BYTES, ascii_json, ascii_size

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_every_value_comes_back_from_ascii(value: Any) -> None:
    written = ascii_json(value)
    assert (json.loads(written), written.isascii()) == (value, True)


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_is_written_as_the_standard_library_does(text: str) -> None:
    assert ascii_json({text: [text]}) == json.dumps({text: [text]}, separators=(",", ":")).encode()
    assert ascii_size({text: [text]}) == len(ascii_json({text: [text]}))


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "\ud800", "\x00\x1f\x7f", "é" * 9, "cut…", "…é…", "\u2028<!--"])
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    written = ascii_json([text, {"a": text}])
    assert json.loads(written) == [text, {"a": text}]
    assert written == json.dumps([text, {"a": text}], separators=(",", ":")).encode()


@pytest.mark.parametrize("cut", ["", "…", "é…"])
@pytest.mark.parametrize("numbers", [1, SHORT_BYTES])
def test_the_size_is_that_of_what_is_written(cut: str, numbers: int) -> None:
    value = [cut, [1e-05] * numbers]
    assert ascii_size(value) == len(ascii_json(value))


def test_what_is_nested_deeper_than_anything_else_reads_is_written() -> None:
    value: Any = 1
    for _ in range(400):
        value = [value]
    assert ascii_json(value) == b"[" * 400 + b"1" + b"]" * 400


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        ascii_json({"a": [number]})


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        ascii_json(object())  # type: ignore[arg-type]  # on purpose
