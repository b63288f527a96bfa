"""What a program printed, in constant memory: its head and its tail, as text."""

import codecs

MAX_BYTES = 256 * 1024
_HALF = MAX_BYTES // 2 - 32
"""Room for the mark between head and tail."""


class Output:
    """Collects bytes as they come. What is no UTF-8 becomes U+FFFD; sizes are of the text in UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        self._add(self._decoder.decode(data))

    @property
    def is_cut(self) -> bool:
        """Whether `text` leaves something out."""
        return bool(self._left_out) or len(self._tail) > _HALF

    def text(self) -> str:
        """All of it, or at most MAX_BYTES: head, `[… N bytes left out …]`, tail; no character cut. Ends the output."""
        self._add(self._decoder.decode(b"", final=True))
        if not self.is_cut:
            return (self._head + self._tail).decode("utf-8")
        head = bytes(self._head).decode("utf-8", "ignore")
        tail = bytes(self._tail[-_HALF:]).decode("utf-8", "ignore")
        kept = len(head.encode()) + len(tail.encode())
        left_out = self._left_out + len(self._head) + len(self._tail) - kept
        return f"{head}\n[… {left_out} bytes left out …]\n{tail}"

    def _add(self, text: str) -> None:
        data = text.encode("utf-8")
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _HALF:
            self._left_out += len(self._tail) - _HALF
            del self._tail[:-_HALF]
