"""The bytes of a record."""

import json
import math
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.errors import TooLarge
from abey.protocol.journal import (
    RECORD_TYPES,
    Answered,
    CallExpired,
    CallFinished,
    Final,
    KeyedOutcome,
    KeyedRequest,
    Paused,
    Record,
    Skipped,
    Waiting,
)
from abey.runtime.store.codec import RECORD_LIMIT, Entry, Foreign, Garbled, Newer, decode, encode_unit
from abey.runtime.store.nesting import NESTING_LIMIT
from abey.runtime.store.scan import End, NewerVersion, Scan, scan

AT = "2025-11-29T12:00:00.000Z"
ODD = {"z": None, "a": "\ud83d"}


def finished(output: Any) -> Record:
    return Record(1, AT, CallFinished(call_id="c", outcome="completed", output=output))


def sealed(value: Any) -> bytes:
    """A line, without its newline, whose checksum is right whatever it says."""
    payload = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"%08x %b" % (zlib.crc32(payload), payload)


def envelope(**changes: Any) -> dict[str, Any]:
    base = {"v": 1, "rev": 1, "first": 1, "last": 1, "prev": "00000000", "at": AT, "type": "call-expired"}
    return base | {"data": {"callId": "c"}} | changes


def test_a_unit_has_these_bytes() -> None:
    unit = (
        Record(7, AT, CallFinished(call_id="c\ud83d\u2028", outcome="completed", output={"z": None, "a": 1.0})),
        Record(8, AT, Waiting(turn_id="t", step_id="s", call_ids=("c", "d"))),
    )
    first = (
        b'{"at":"2025-11-29T12:00:00.000Z","data":{"callId":"c\\ud83d\\u2028","outcome":"completed",'
        b'"output":{"z":null,"a":1.0}},"first":7,"last":8,"prev":"0000beef","rev":7,"type":"call-finished","v":1}'
    )
    second = (
        b'{"at":"2025-11-29T12:00:00.000Z","data":{"callIds":["c","d"],"stepId":"s","turnId":"t"},'
        b'"first":7,"last":8,"prev":"6c8e300f","rev":8,"type":"waiting","v":1}'
    )
    assert encode_unit(unit, 0xBEEF) == (b"6c8e300f %b\ne1d03a9f %b\n" % (first, second), 0xE1D03A9F)


def test_a_record_of_a_request_with_a_key_has_these_bytes() -> None:
    request = KeyedRequest(key="k 1", method="agents/pause", body_hash="0" * 64)
    outcomes = (KeyedOutcome(key="k 1", outcome={}), KeyedOutcome(key="~", outcome={"error": {"data": ODD}}))
    unit = (Record(1, AT, Answered(), request, outcomes),)
    payload = (
        b'{"at":"2025-11-29T12:00:00.000Z","data":{},"first":1,"ignorable":true,"last":1,"outcomes":[{"key":"k 1",'
        b'"outcome":{}},{"key":"~","outcome":{"error":{"data":{"z":null,"a":"\\ud83d"}}}}],"prev":"00000000",'
        b'"request":{"bodyHash":"%b","key":"k 1","method":"agents/pause"},"rev":1,"type":"answered","v":1}'
    ) % (b"0" * 64)
    written, crc = encode_unit(unit, 0)
    assert written == b"%08x %b\n" % (crc, payload)
    assert decode(written[:-1]) == Entry(1, 1, 1, "00000000", crc, unit[0])


def test_what_a_newer_record_tells_of_requests_is_known_though_it_is_skipped() -> None:
    newer = {"type": "newer", "ignorable": True, "data": {"x": 1}}
    told = {"request": {"key": "k", "method": "m", "bodyHash": "h"}, "outcomes": [{"key": "k", "outcome": {"a": 1}}]}
    found = decode(sealed(envelope(**newer, **told)))
    assert isinstance(found, Entry)
    request = KeyedRequest(key="k", method="m", body_hash="h")
    assert found.record == Record(1, AT, Skipped(), request, (KeyedOutcome(key="k", outcome={"a": 1}),))


def test_every_record_type_comes_back_as_it_was(every_record: tuple[tuple[Record, ...], ...]) -> None:
    assert {unit[0].data.type for unit in every_record} == set(RECORD_TYPES)
    crc, data = 0, b""
    for unit in every_record:
        written, crc = encode_unit(unit, crc)
        data += written
    assert data.isascii()
    assert scan(data) == Scan(every_record, End(len(data), crc, len(every_record)), None)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(json_values)
def test_content_is_neither_reordered_nor_retyped(content: Any) -> None:
    written, _ = encode_unit((finished(content),), 0)
    found = decode(written[:-1])
    assert isinstance(found, Entry)
    assert found.record is not None
    assert isinstance(found.record.data, CallFinished)
    assert repr(found.record.data.output) == repr(content)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_refused(number: float) -> None:
    with pytest.raises(ValueError):
        encode_unit((finished([number]),), 0)


def waiting(length: int) -> Record:
    """A record of many small strings, and a last one of so many characters."""
    return Record(1, AT, Waiting(turn_id="t", step_id="s", call_ids=("c" * 1000,) * 1045 + ("c" * length,)))


def test_a_record_may_have_the_limit_and_not_a_byte_more() -> None:
    room = RECORD_LIMIT - len(encode_unit((waiting(0),), 0)[0])
    assert 0 < room < 1000
    assert len(encode_unit((waiting(room),), 0)[0]) == RECORD_LIMIT
    with pytest.raises(TooLarge) as refused:
        encode_unit((waiting(room + 1),), 0)
    assert (refused.value.message, refused.value.data) == (
        "a record waiting of 1048577 bytes is larger than 1048576 bytes",
        {"kind": "too-large", "retryable": False, "record": "waiting", "bytes": 1048577, "limit": 1048576},
    )


def nested(levels: int) -> Any:
    value: Any = "]["
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [NESTING_LIMIT - 1, 5000])
def test_a_record_too_deep_for_some_reader_is_refused(levels: int) -> None:
    with pytest.raises(TooLarge, match="nests deeper than 256 levels"):
        encode_unit((finished(nested(levels)),), 0)


def test_brackets_in_width_and_in_strings_do_not_count_as_depth() -> None:
    content = [nested(NESTING_LIMIT - 3), ["["] * 600, [[]] * 600]
    assert isinstance(decode(encode_unit((finished(content),), 0)[0][:-1]), Entry)


def test_revisions_that_do_not_follow_each_other_are_refused() -> None:
    with pytest.raises(ValueError):
        encode_unit((Record(1, AT, Paused(by="a")), Record(3, AT, Paused(by="a"))), 0)


@pytest.mark.parametrize(
    "line",
    [b"", b"\0" * 40, b"hello", sealed(envelope()).upper(), sealed(envelope())[:-1], b" " + sealed(envelope())],
)
def test_a_line_with_a_wrong_checksum_is_garbled(line: bytes) -> None:
    assert decode(line) == Garbled("the checksum does not match")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (envelope(v=2, more=1), "format version 2"),
        (envelope(type="dreamt"), "unknown record type dreamt"),
        (envelope(more=1), "unknown member more of record"),
        (envelope(data={"callId": "c", "more": 1}), "unknown member more of call-expired"),
    ],
)
def test_a_line_of_a_newer_version_is_known_as_one(value: Any, reason: str) -> None:
    assert decode(sealed(value)) == Newer(reason)


@pytest.mark.parametrize(
    "value",
    [
        b"nope",
        b"[" * 100_000,
        "text".encode("utf-16"),
        b'{"v":NaN}',
        [],
        {},
        envelope(v=0),
        envelope(v=True),
        envelope(rev=0),
        envelope(rev="1"),
        envelope(data=[]),
        envelope(data={}),
        envelope(data={"callId": 1}),
    ],
)
def test_a_whole_line_that_is_no_record_is_foreign(value: Any) -> None:
    assert isinstance(decode(sealed(value)), Foreign)


def test_a_newer_record_that_may_be_skipped_is_skipped_and_counted() -> None:
    first = sealed(envelope(type="dreamt", data={"x": 1}, ignorable=True, last=2))
    prev = first[:8].decode()
    second = sealed(envelope(rev=2, first=1, last=2, prev=prev))
    data = first + b"\n" + second + b"\n"
    kept = ((Record(1, AT, Skipped()), Record(2, AT, CallExpired(call_id="c"))),)
    assert scan(data) == Scan(kept, End(len(data), int(second[:8], 16), 2), None)


def test_a_newer_record_stops_the_reading_where_it_stands() -> None:
    written, crc = encode_unit((Record(1, AT, Final(turn_id="t", step_id="s")),), 0)
    newer = sealed(envelope(v=2, rev=2, first=2, last=2, prev=f"{crc:08x}")) + b"\n"
    unit = (Record(1, AT, Final(turn_id="t", step_id="s")),)
    problem = NewerVersion(len(written), "format version 2")
    assert scan(written + newer) == Scan((unit,), End(len(written), crc, 1), problem)
