"""A text as editors count in it: lines, and columns in the units that the client chose (LSP 3.17, Position)."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from lsprotocol import types as lsp

Encoding = lsp.PositionEncodingKind | str

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass(frozen=True, slots=True)
class Text:
    """`source` with offsets in characters, as Python has them, and positions as the client has them."""

    source: str
    encoding: Encoding = lsp.PositionEncodingKind.Utf16
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [0, *(found.end() for found in _LINE_BREAK.finditer(self.source))])

    def position(self, offset: int) -> lsp.Position:
        """Where a character is; an offset past the end is the end, one within a line break the end of its line."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        return lsp.Position(line, self._units(start, min(offset, self._end_of(line))))

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        """The character at a position; a line or a column past the end is the end (of the text, or of the line), and
        one within a character is its start."""
        if position.line >= len(self._starts):
            return len(self.source)
        start, end = self._starts[position.line], self._end_of(position.line)
        fitting = bisect_right(range(start, end + 1), position.character, key=lambda at: self._units(start, at))
        return start + fitting - 1

    def _end_of(self, line: int) -> int:
        """Where its line break is, or the end of the text."""
        if line + 1 == len(self._starts):
            return len(self.source)
        after = self._starts[line + 1]
        return after - (2 if self.source[after - 2 : after] == "\r\n" else 1)

    def _units(self, start: int, end: int) -> int:
        """A lone surrogate counts as if it could be encoded."""
        if self.source.isascii():
            return end - start
        codec, size = _UNITS[str(getattr(self.encoding, "value", self.encoding))]
        return len(self.source[start:end].encode(codec, "surrogatepass")) // size
