"""Lines at the bottom of a terminal that come, change and go, and leave nothing behind."""

from collections.abc import Sequence
from typing import NamedTuple


class Drawn(NamedTuple):
    """A line as it goes to a terminal, escaped and perhaps coloured, and how many cells of it that takes."""

    text: str
    cells: int


class Region:
    """What stands there now, the cursor behind its last line. A terminal that became narrower has wrapped it."""

    def __init__(self) -> None:
        self._lines: list[Drawn] = []

    def wiped(self, columns: int) -> str:
        """What takes it away from a terminal that has so many columns now; empty where there is nothing."""
        if not self._lines:
            return ""
        rows = sum(max(1, -(-line.cells // columns)) for line in self._lines)
        self._lines = []
        return "\r\x1b[2K" + "\x1b[A\x1b[2K" * (rows - 1)  # a whole screen that is erased at once some keep as history

    def redrawn(self, lines: Sequence[Drawn], columns: int) -> str:
        """What puts `lines` in its place, in one piece where a terminal knows how; empty where they stand there."""
        if list(lines) == self._lines:
            return ""
        text = self.wiped(columns) + "\n".join(line.text for line in lines)
        self._lines = list(lines)
        return f"\x1b[?2026h{text}\x1b[?2026l"
