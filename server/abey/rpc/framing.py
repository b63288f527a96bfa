"""LSP base framing: bytes in, message bodies out. Stdlib only, no input or output of its own.

A stream is over once a header cannot be followed: where the next message starts is then anybody's guess, and a guess
is what a web page's POST lives on (security.md, Transport). Laws: a body is given out exactly once and in order, at
most `header_bytes + frame_bytes` are held, and after anything but a Body nothing more comes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_KNOWN_HEADERS = (b"content-length", b"content-type")
_LENGTH_DIGITS = 19
_UTF_8 = (b"utf-8", b"utf8")
_USUAL_HEAD = re.compile(rb"Content-Length: ([0-9]{1,%d})\r\n\r\n" % _LENGTH_DIGITS)
"""What nearly every message has: taken at once where it is there whole."""


@dataclass(frozen=True, slots=True)
class Body:
    """One whole message."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """A header of ours that cannot be followed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Oversized:
    """A message that is announced longer than is allowed."""

    length: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """Not our framing at all: HTTP, or a header that none of our clients sends."""

    reason: str


Event = Body | Malformed | Oversized | Foreign


def frame(body: bytes) -> bytes:
    """`body` as it goes over the wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """An incremental parser of one direction of one connection."""

    def __init__(self, header_bytes: int, frame_bytes: int) -> None:
        self._header_bytes = header_bytes
        self._frame_bytes = frame_bytes
        self._buffer = bytearray()
        self._head_bytes = 0
        self._headers: dict[bytes, bytes] = {}
        self._length: int | None = None
        self._broken = False

    @property
    def partial(self) -> bool:
        """The stream stands within a message."""
        return not self._broken and bool(self._buffer or self._head_bytes or self._length is not None)

    @property
    def left(self) -> bool:
        """Something was not taken yet, though it need not be whole."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> Iterator[Event]:
        """What `data` completes, in order."""
        self.add(data)
        while event := self.next():
            yield event

    def add(self, data: bytes) -> None:
        """More of the stream, whatever was taken of it so far."""
        if not self._broken:
            self._buffer += data

    def next(self) -> Event | None:
        """The next that is there whole; None where more of the stream is needed, or nothing more comes."""
        if not self._buffer:
            return None
        event = (self._head() if self._length is None else None) or self._body()
        if event is not None and not isinstance(event, Body):
            self._broken = True
            self._buffer.clear()
        return event

    def _body(self) -> Body | None:
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = Body(bytes(self._buffer[: self._length]))
        del self._buffer[: self._length]
        self._length, self._head_bytes, self._headers = None, 0, {}
        return body

    def _head(self) -> Event | None:
        """Takes header lines up to the blank one; a line is judged as soon as it is seen. What is wrong with them."""
        usual = None if self._head_bytes else _USUAL_HEAD.match(self._buffer)
        if usual is not None and usual.end() <= self._header_bytes:
            length = int(usual[1])
            del self._buffer[: usual.end()]
            return self._announce(length)
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).removesuffix(b"\r")
            del self._buffer[: end + 1]
            self._head_bytes += end + 1
            if self._head_bytes > self._header_bytes:
                return self._too_long()
            if not line:
                return self._finish_head()
            if fault := self._take(line):
                return fault
        if self._head_bytes + len(self._buffer) > self._header_bytes:
            return self._too_long()
        return _judge_name(bytes(self._buffer).partition(b":")[0], whole=b":" in self._buffer)

    def _take(self, line: bytes) -> Event | None:
        name, colon, value = line.partition(b":")
        if fault := _judge_name(name, whole=True):
            return fault
        if not colon:
            return Malformed(f"a header without a value: {_shown(line)}")
        value = value.strip()
        if self._headers.setdefault(name.lower(), value) != value:
            return Malformed(f"two different {_shown(name)} headers")
        return None

    def _finish_head(self) -> Event | None:
        length = self._headers.get(b"content-length")
        if length is None:
            return Malformed("no Content-Length header")
        if not length.isdigit() or len(length) > _LENGTH_DIGITS:
            return Malformed(f"a Content-Length that is no length: {_shown(length)}")
        if fault := self._announce(int(length)):
            return fault
        if charset := _foreign_charset(self._headers.get(b"content-type", b"")):
            return Malformed(f"a charset that is not utf-8: {_shown(charset)}")
        return None

    def _announce(self, length: int) -> Oversized | None:
        if length > self._frame_bytes:
            return Oversized(length)
        self._length = length
        return None

    def _too_long(self) -> Malformed:
        return Malformed(f"headers of more than {self._header_bytes} bytes")


def _judge_name(name: bytes, whole: bool) -> Foreign | None:
    """A fault if `name` is none of our headers or, unless it is whole, can become none."""
    lower = name.lower()
    if lower in _KNOWN_HEADERS or (not whole and any(known.startswith(lower) for known in _KNOWN_HEADERS)):
        return None
    return None if not whole and name == b"\r" else Foreign(f"a header that is not ours: {_shown(name)}")


def _foreign_charset(content_type: bytes) -> bytes | None:
    for parameter in content_type.split(b";")[1:]:
        name, _, value = parameter.strip().partition(b"=")
        if name.strip().lower() == b"charset":
            charset = value.strip().strip(b'"')
            return None if charset.lower() in _UTF_8 else charset
    return None


def _shown(data: bytes) -> str:
    return ascii(data[:40].decode("latin-1"))
