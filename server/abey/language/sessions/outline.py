"""The symbols of a session's document: its turns, and in each what was said and called."""

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from abey.language.sessions.composer import composer_of
from abey.language.text import Text


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of ours: nothing foreign begins a line (harmless.py). `end` is where its part of the document ends."""

    level: int
    title: str
    start: int
    end: int


def symbols(text: Text) -> list[lsp.DocumentSymbol]:
    """Headings above the composer line, those of level 3 within those of level 2."""
    found: list[lsp.DocumentSymbol] = []
    for heading in headings(text.source):
        symbol = _symbol(text, heading)
        if heading.level == 2:
            found.append(symbol)
        elif found and heading.level == 3:
            found[-1].children = [*(found[-1].children or ()), symbol]
    return found


def headings(document: str) -> list[Heading]:
    """In their order. A document without a composer line has none below."""
    composer = composer_of(document)
    end = len(document) if composer is None else composer.start
    lines: list[tuple[int, str, int]] = []
    offset = 0
    for line in document[:end].splitlines(keepends=True):
        level = len(line) - len(line.lstrip("#"))
        if 0 < level <= 3 and line[level : level + 1] == " ":
            lines.append((level, line[level:].strip(), offset))
        offset += len(line)
    return [
        Heading(level, title, at, _end(lines[index + 1 :], level, end))
        for index, (level, title, at) in enumerate(lines)
    ]


def _end(later: Sequence[tuple[int, str, int]], level: int, end: int) -> int:
    return next((at for other, _, at in later if other <= level), end)


def _symbol(text: Text, heading: Heading) -> lsp.DocumentSymbol:
    kind = lsp.SymbolKind.Function if heading.title.startswith("Call ") else lsp.SymbolKind.String
    line_end = text.source.find("\n", heading.start)
    return lsp.DocumentSymbol(
        name=heading.title,
        kind=lsp.SymbolKind.Namespace if heading.level == 2 else kind,
        range=text.range(heading.start, heading.end),
        selection_range=text.range(heading.start, heading.end if line_end < 0 else line_end),
    )
