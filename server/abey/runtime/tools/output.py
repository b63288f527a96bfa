"""What a program printed, in constant memory: its head and its tail, as text."""

import codecs
import re
from collections.abc import Callable

MAX_BYTES = 256 * 1024
_HALF = MAX_BYTES // 2 - 32
"""Room for the mark between head and tail."""

_FOREIGN = re.compile("[\udc80-\udcff]")
"""What the handler `surrogateescape` makes of a byte that is no UTF-8."""

Heard = Callable[[str], None]


class Output:
    """Collects bytes as they come. What is no UTF-8 becomes U+FFFD, and `foreign` says how many bytes that were; sizes
    are of the text in UTF-8. `heard` gets every piece of the text."""

    def __init__(self, heard: Heard | None = None) -> None:
        self._heard = heard
        self._begun = b""
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0
        self.foreign = 0

    def add(self, data: bytes) -> None:
        self._add(self._decoded(data, is_last=False))

    @property
    def is_cut(self) -> bool:
        """Whether `text` leaves something out."""
        return bool(self._left_out) or len(self._tail) > _HALF

    def text(self) -> str:
        """All of it, or at most MAX_BYTES: head, `[… N bytes left out …]`, tail; no character cut. Ends the output."""
        self._add(self._decoded(b"", is_last=True))
        if not self.is_cut:
            return (self._head + self._tail).decode("utf-8")
        head = bytes(self._head).decode("utf-8", "ignore")
        tail = bytes(self._tail[-_HALF:]).decode("utf-8", "ignore")
        kept = len(head.encode()) + len(tail.encode())
        left_out = self._left_out + len(self._head) + len(self._tail) - kept
        return f"{head}\n[… {left_out} bytes left out …]\n{tail}"

    def _decoded(self, data: bytes, *, is_last: bool) -> str:
        """As text, but for the beginning of a character at its end."""
        data = self._begun + data
        try:
            text, read = codecs.utf_8_decode(data, "strict", is_last)
        except UnicodeDecodeError:
            text, read = codecs.utf_8_decode(data, "replace", is_last)
            self.foreign += len(_FOREIGN.findall(codecs.utf_8_decode(data, "surrogateescape", is_last)[0]))
        self._begun = data[read:]
        return text

    def _add(self, text: str) -> None:
        if text and self._heard is not None:
            self._heard(text)
        data = text.encode("utf-8")
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _HALF:
            self._left_out += len(self._tail) - _HALF
            del self._tail[:-_HALF]
