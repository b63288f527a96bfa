"""The JSON reader: what it tolerates, where it says things stand, what it refuses and where."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.runtime.agents.jsonc import BadSyntax, Duplicate, Span, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_every_json_value_reads_as_itself(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text).value == value


@given(VALUES)
def test_the_span_of_every_value_holds_that_value(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    spans = parse(text).values
    shown = {pointer: json.loads(text[span.start : span.end]) for pointer, span in spans.items()}
    assert shown == {pointer: looked_up(value, pointer) for pointer in spans}


def test_comments_trailing_commas_and_a_bom_are_tolerated_and_spans_are_exact() -> None:
    text = '\ufeff{ // one\n "a/~": [1, 2,], /* two */ "b": null,\n}\n// end'
    document = parse(text)
    values = {pointer: text[span.start : span.end] for pointer, span in document.values.items()}
    keys = {pointer: text[span.start : span.end] for pointer, span in document.keys.items()}
    assert (document.value, values, keys) == (
        {"a/~": [1, 2], "b": None},
        {"": text[1:-7], "/a~1~0": "[1, 2,]", "/a~1~0/0": "1", "/a~1~0/1": "2", "/b": "null"},
        {"/a~1~0": '"a/~"', "/b": '"b"'},
    )


def test_a_key_that_stands_twice_is_found_and_the_last_one_counts() -> None:
    document = parse('{"a": 1, "a": 2}')
    assert (document.value, document.duplicates) == ({"a": 2}, (Duplicate("/a", Span(9, 12)),))


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("", 0, 0, "the file is empty"),
        (" \n // nothing", 0, 0, "the file is empty"),
        ("[1, 2", 0, 1, "`[` is never closed by `]`"),
        ('{"a": 1,', 0, 1, "`{` is never closed by `}`"),
        ('{"a" 1}', 5, 6, "expected `:` after the key"),
        ('{"a":', 5, 5, "expected a value"),
        ("{a: 1}", 1, 2, "expected a key in double quotes"),
        ("{'a': 1}", 1, 2, "expected a key in double quotes"),
        ("['a']", 1, 4, "strings need double quotes"),
        ("[True]", 1, 5, "expected a value; did you mean `true`"),
        ("[NaN]", 1, 4, "expected a value"),
        ("[01]", 1, 3, "not a JSON number"),
        ("[1.]", 1, 3, "not a JSON number"),
        ("[1e999]", 1, 6, "the number is too large"),
        pytest.param(f"[{'9' * 5000}]", 1, 5001, "the number is too large", id="5000 digits"),
        ("[1 2]", 3, 4, "expected `,` or `]`"),
        ("[,]", 1, 2, "expected a value"),
        ("[1] 2", 4, 5, "nothing may follow the value"),
        (r'["\x"]', 2, 4, r"`\x` is no JSON escape"),
        (r'["\u12"]', 2, 4, r"`\u` is no JSON escape"),
        ('["a\nb"]', 1, 3, "the string is not closed on its line"),
        ('["a\tb"]', 3, 4, "a string may not hold U+0009 unescaped"),
        ('["abc', 1, 5, "the string is never closed"),
        (r'["\ud800"]', 1, 9, "half a surrogate pair is no character"),
        ("[1] /* x", 4, 6, "the comment is never closed"),
        pytest.param("[" * 200, 101, 102, "nested deeper than 100 levels", id="200 levels"),
    ],
)
def test_what_is_no_json_is_refused_where_it_begins(text: str, start: int, end: int, message: str) -> None:
    with pytest.raises(BadSyntax) as caught:
        parse(text)
    assert (caught.value.start, caught.value.end, caught.value.message) == (start, end, message)


def looked_up(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value
