"""Server-sent events out of bytes, fed in any pieces (WHATWG HTML 9.2)."""

from typing import NamedTuple


class SseEvent(NamedTuple):
    """`name` is `message` where the stream gives none."""

    name: str
    data: str


class SseDecoder:
    """Sans-IO. A sequence of bytes that is no UTF-8 becomes U+FFFD; comments and unknown fields are passed over.

    As most clients of these APIs do, an event without data is given, too: a ping is one.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._held_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []
        self._any = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes."""
        chunk = self._plain_newlines(chunk)
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return []
        *lines, rest = (b"".join(self._rest) + chunk).split(b"\n")
        self._rest = [rest]
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._line(line)
            elif self._any:
                events.append(self._event())
        return events

    def close(self) -> list[SseEvent]:
        """What the end of the stream left without its empty line: perhaps an event that was cut off."""
        return self.feed(b"\n\n") if self._rest or self._any else []

    def _plain_newlines(self, chunk: bytes) -> bytes:
        """CRLF and CR as LF. A CR at the end of a chunk waits for what may follow it."""
        if self._held_cr:
            chunk = b"\r" + chunk
            self._held_cr = False
        if b"\r" not in chunk:
            return chunk
        if chunk.endswith(b"\r"):
            chunk = chunk[:-1]
            self._held_cr = True
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _line(self, line: bytes) -> None:
        if self._first:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        if line.startswith(b"data: "):
            self._data.append(line[6:].decode("utf-8", "replace"))
            self._any = True
            return
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        match field:
            case b"data":
                self._data.append(text)
            case b"event":
                self._name = text
            case b"id" | b"retry":
                pass
            case _:
                return
        self._any = True

    def _event(self) -> SseEvent:
        event = SseEvent(self._name or "message", "\n".join(self._data))
        self._name, self._data, self._any = "", [], False
        return event
