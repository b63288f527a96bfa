"""JSON that is refused because it could not be passed on unchanged, and the union that a message is read into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.protocol.base import Json
from abey.rpc.faults import ParseError
from abey.rpc.messages import Invalid, Message, Notification, Request, Response, decode, encode, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_passes_through_unchanged(value: Json) -> None:
    assert decode(encode(value), depth=100) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON: Expecting value at character 0"),
        (b"{nope", "not JSON: Expecting property name enclosed in double quotes at character 1"),
        (b"{} {}", "not JSON: Extra data at character 3"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e999", "a number is out of range"),
        (b"1" * 5000, "a number has too many digits"),
        (b'{"a": 1, "a": 2}', "an object has the same name twice"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"[" * 4 + b"]" * 4, "nested deeper than 3"),
        (b'{"a":' * 4 + b"1" + b"}" * 4, "nested deeper than 3"),
        (b"[" * 100_000, "nested deeper than 3"),
    ],
)
def test_what_cannot_be_passed_on_unchanged_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        decode(body, depth=3)
    assert refused.value.message == reason


@pytest.mark.parametrize(("own_id", "read"), [(b"7", 7), (b'"a"', "a"), (b"[]", None), (b"true", None)])
def test_what_nests_too_deep_is_refused_under_its_own_id(own_id: bytes, read: object) -> None:
    with pytest.raises(ParseError) as refused:
        decode(b'{"id":' + own_id + b',"params":[[[[]]]]}', depth=3)
    assert refused.value.id == read


def test_nesting_up_to_the_limit_is_read() -> None:
    assert decode(b"[[[1]]]", depth=3) == [[[1]]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}}, Request(1, "m", {"a": 1})),
        ({"jsonrpc": "2.0", "id": "a", "method": "m", "trace": "x"}, Request("a", "m", None)),
        ({"jsonrpc": "2.0", "method": "m"}, Notification("m", None)),
        ({"jsonrpc": "2.0", "id": 1, "result": None}, Response(1)),
        ({"jsonrpc": "2.0", "id": "s1", "result": {"a": [1]}}, Response("s1", {"a": [1]})),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": 1}}, Response(None, error={"code": 1})),
        (17, Invalid(None, "a message is an object")),
        ({"id": 1, "method": "m"}, Invalid(1, 'a message has the member "jsonrpc": "2.0"')),
        ({"jsonrpc": "1.0", "id": 1, "method": "m"}, Invalid(1, 'a message has the member "jsonrpc": "2.0"')),
        ({"jsonrpc": "2.0", "id": 1}, Invalid(1, "a message has a method, a result or an error")),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, Invalid(1, "a method is a string")),
    ],
)
def test_a_message_is_read_into_one_of_four_kinds(value: Json, message: Message) -> None:
    assert parse(value) == message


@pytest.mark.parametrize(
    ("request_id", "readable"),
    [(None, None), (True, None), ([1], None), ({"a": 1}, None), ("x" * 1025, None), (1.5, 1.5)],
)
def test_an_id_that_is_none_is_answered_under_what_can_be_read_of_it(request_id: Json, readable: float | None) -> None:
    reason = "an id is a string of at most 1024 characters or a whole number"
    assert parse({"jsonrpc": "2.0", "id": request_id, "method": "m"}) == Invalid(readable, reason)
