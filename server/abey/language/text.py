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
        """Where a character is; an offset past the end is the end."""
        offset = min(offset, len(self.source))
        line = bisect_right(self._starts, offset) - 1
        return lsp.Position(line, self._units(self.source[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        """The character at a position; a line or a column past the end is the end (of the text, or of the line)."""
        if position.line >= len(self._starts):
            return len(self.source)
        start = self._starts[position.line]
        line = _LINE_BREAK.split(self.source[start : self._end_of(position.line)], maxsplit=1)[0]
        units = 0
        for index, character in enumerate(line):
            units += self._units(character)
            if units > position.character:
                return start + index
        return start + len(line)

    def _end_of(self, line: int) -> int:
        return self._starts[line + 1] if line + 1 < len(self._starts) else len(self.source)

    def _units(self, text: str) -> int:
        codec, size = _UNITS[str(getattr(self.encoding, "value", self.encoding))]
        return len(text.encode(codec, "surrogatepass")) // size
