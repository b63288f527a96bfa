"""Bytes to message bodies: in any pieces, with any spelling of the headers, and never past a header that lies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.rpc.framing import Body, Event, Foreign, Frames, Malformed, Oversized, frame


def events(*pieces: bytes, header_bytes: int = 200, frame_bytes: int = 1000) -> list[Event]:
    frames = Frames(header_bytes, frame_bytes)
    return [event for piece in pieces for event in frames.feed(piece)]


@given(st.lists(st.binary(max_size=200), max_size=5), st.data())
def test_bodies_come_out_whole_and_in_order_however_the_stream_is_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert events(*pieces) == [Body(body) for body in bodies]


HEADS = ["Content-Length: %d\r\n\r\n", "content-length:%d\n\n", "Content-Length: 0%d\r\nContent-Type: x\r\n\r\n"]


@given(st.lists(st.tuples(st.sampled_from(HEADS), st.binary(max_size=200)), max_size=5), st.data())
def test_so_they_do_whatever_stands_before_them(messages: list[tuple[str, bytes]], data: st.DataObject) -> None:
    stream = b"".join((head % len(body)).encode() + body for head, body in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert events(*pieces) == [Body(body) for _, body in messages]


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_usual_head_may_have_no_more_bytes_than_any_other(header_bytes: int, size: int) -> None:
    head = b"Content-Length: 2\r\n\r\n"
    pieces = [(head + b"{}")[start : start + size] for start in range(0, len(head) + 2, size)]
    too_long = Malformed(f"headers of more than {header_bytes} bytes")
    expected = Body(b"{}") if len(head) <= header_bytes else too_long
    assert events(*pieces, header_bytes=header_bytes) == [expected]


@given(st.binary(max_size=400), st.integers(1, 50))
def test_garbage_is_judged_the_same_in_any_pieces(garbage: bytes, size: int) -> None:
    pieces = [garbage[start : start + size] for start in range(0, len(garbage), size)]
    assert [type(event) for event in events(*pieces)] == [type(event) for event in events(garbage)]


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length: 2\r\n\r\n",
        b"CONTENT-LENGTH:2\r\n\r\n",
        b"Content-Length:   2  \r\n\r\n",
        b"Content-Length: 0002\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b'Content-Length: 2\r\ncontent-type: application/json; charset="UTF8"\r\n\r\n',
    ],
)
def test_the_spellings_of_a_header_that_clients_use_are_understood(head: bytes) -> None:
    assert events(head + b"{}") == [Body(b"{}")]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"Content-Length: -5\r\n\r\n", Malformed("a Content-Length that is no length: '-5'")),
        (b"Content-Length: +5\r\n\r\n", Malformed("a Content-Length that is no length: '+5'")),
        (b"Content-Length: 1_0\r\n\r\n", Malformed("a Content-Length that is no length: '1_0'")),
        (b"Content-Length: 0x10\r\n\r\n", Malformed("a Content-Length that is no length: '0x10'")),
        (b"Content-Length:\r\n\r\n", Malformed("a Content-Length that is no length: ''")),
        (b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", Malformed(f"a Content-Length that is no length: '{'9' * 30}'")),
        (b"Content-Type: text/plain\r\n\r\n", Malformed("no Content-Length header")),
        (b"\r\n", Malformed("no Content-Length header")),
        (b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", Malformed("two different 'Content-Length' headers")),
        (
            b"Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n",
            Malformed("a charset that is not utf-8: 'utf-16'"),
        ),
        (b"Content-Type: " + b"a" * 200, Malformed("headers of more than 200 bytes")),
        (b"Content-Length: 1001\r\n\r\n", Oversized(1001)),
        (b"POST / HTTP/1.1\r\n", Foreign("a header that is not ours: 'POST / HTTP/1.1'")),
        (b"P", Foreign("a header that is not ours: 'P'")),
        (b"Host: localhost\r\n", Foreign("a header that is not ours: 'Host'")),
        (b"Content-Length : 2\r\n\r\n", Foreign("a header that is not ours: 'Content-Length '")),
        (b"Content-Length\r\n", Malformed("a header without a value: 'Content-Length'")),
        (b"\0\0\0", Foreign("a header that is not ours: '\\x00\\x00\\x00'")),
    ],
)
def test_a_header_that_cannot_be_followed_ends_the_stream(stream: bytes, expected: Event) -> None:
    assert events(frame(b"1"), stream, frame(b"2")) == [Body(b"1"), expected]


@pytest.mark.parametrize(("fed", "partial"), [(b"", False), (b"C", True), (b"Content-Length: 2\r\n\r\n{", True)])
def test_a_stream_knows_whether_it_stands_within_a_message(fed: bytes, partial: bool) -> None:
    frames = Frames(200, 1000)
    assert (list(frames.feed(fed)), frames.partial) == ([], partial)
