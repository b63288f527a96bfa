"""What a tool that runs has printed so far, in constant memory: its beginning and its end."""

from collections import deque

KEPT = 64 * 1024
"""Characters of the beginning, and again of the end."""


class SoFar:
    """Text as it comes. `size` counts all its characters, also those that are not kept."""

    def __init__(self, begun: str = "") -> None:
        """`begun` is kept whole: it is what was kept before."""
        self._head = begun
        self._tail: deque[str] = deque()
        self._in_tail = 0
        self._left_out = 0

    @property
    def size(self) -> int:
        return len(self._head) + self._left_out + self._in_tail

    def add(self, text: str) -> None:
        room = max(KEPT - len(self._head), 0) if not self._in_tail else 0
        self._head += text[:room]
        self._tail.append(text[room:])
        self._in_tail += len(text[room:])
        while self._in_tail - len(self._tail[0]) >= KEPT:
            self._leave_out(self._tail.popleft())

    @property
    def pieces(self) -> tuple[str, ...]:
        """All that is kept."""
        return self._head, *self._tail

    def text(self) -> str:
        """All of it, or head, `[… N characters left out …]`, tail."""
        tail = "".join(self._tail)
        left_out = self._left_out + max(len(tail) - KEPT, 0)
        if not left_out:
            return self._head + tail
        return f"{self._head}\n[… {left_out} characters left out …]\n{tail[-KEPT:]}"

    def end(self, most: int) -> str:
        """The last characters of `text`."""
        return self.text()[-most:]

    def _leave_out(self, text: str) -> None:
        self._left_out += len(text)
        self._in_tail -= len(text)
