"""Server-sent events, against the cases of other implementations and against the rules."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exchanges import RECORDED

from abey.runtime.models.sse import SseDecoder, SseEvent

FRAMING = RECORDED / "sse-framing.jsonl"
CASES = [json.loads(line) for line in FRAMING.read_text(encoding="utf-8").splitlines()] if FRAMING.exists() else []


def decoded(*chunks: bytes) -> list[SseEvent]:
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_of_another_implementation_gives_the_same_events(case: dict[str, Any]) -> None:
    chunks = [chunk.encode("latin-1") for chunk in case["chunks_latin1"]]
    want = [SseEvent(event["event"], event["data"]) for event in case["expected_events"]]
    whole = b"".join(chunks)
    assert decoded(*chunks) == want
    assert decoded(*(whole[at : at + 1] for at in range(len(whole)))) == want


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\r\rdata: b\r\n\r\n", [("message", "a"), ("message", "b")]),
        (b"data: a\ndata\ndata:  b\n\n", [("message", "a\n\n b")]),
        (b": hi\n\n:\n\ndata: a\n\n", [("message", "a")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("message", "b")]),
        (b"event: x\n\n", [("x", "")]),
        (b"other: x\nid: 1\nretry: 2\ndata: a\n\n", [("message", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        ("data: 🐢\u2028\x85\n\n".encode(), [("message", "🐢\u2028\x85")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        (b"data: a\n", []),
        (b"data: a", []),
    ],
)
def test_lines_and_fields_are_those_of_the_standard(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert decoded(stream) == [SseEvent(*event) for event in events]


PIECES = st.lists(
    st.sampled_from([b"data: a", b"data:", b"\r", b"\n", b"\r\n", b"event: x", b": c", b"\xf0\x9f", b"\x90\xa2", b" "]),
    max_size=14,
)


@given(PIECES, st.integers(0, 80), st.integers(0, 80))
def test_where_the_stream_is_split_makes_no_difference(pieces: list[bytes], one: int, other: int) -> None:
    whole = b"data: start\n\n" + b"".join(pieces) + b"\n\ndata: end\n\n"
    first, second = sorted((min(one, len(whole)), min(other, len(whole))))
    assert decoded(whole[:first], whole[first:second], whole[second:]) == decoded(whole)


def test_what_was_left_at_the_end_is_given_when_it_is_asked_for() -> None:
    decoder = SseDecoder()
    assert (decoder.feed(b"data: a\nda"), decoder.feed(b"ta: b"), decoder.close()) == ([], [], [("message", "a\nb")])
    assert decoder.close() == []
