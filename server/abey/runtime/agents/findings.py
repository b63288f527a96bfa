"""What is to be said about a file: where it is wrong, how badly, and the fact in one line."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from abey.protocol.queries import Diagnostic, Position, Range
from abey.shared.escaping import cut, escape_line

Severity = Literal["error", "warning", "information", "hint"]

_SEVERITIES: dict[Severity, int] = {"error": 1, "warning": 2, "information": 3, "hint": 4}
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about the text between two offsets in characters; `pointer` is the JSON pointer it is about, in our
    form and in the file's. `replacement` is the word that was meant instead, `related` where the reason stands."""

    start: int
    end: int
    severity: Severity
    code: str
    message: str
    pointer: str = ""
    source: str = ""
    replacement: str | None = None
    related: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """What is wrong at a JSON pointer, before anybody knows where in a text that is; `on_key` marks the key.
    `replacement` is the word that was meant instead, `related` the pointer of the reason."""

    pointer: str
    severity: Severity
    code: str
    message: str
    on_key: bool = False
    replacement: str | None = None
    related: str | None = None


def diagnostics(text: str, findings: Iterable[Finding]) -> tuple[Diagnostic, ...]:
    """The findings as LSP has them: lines from 0, columns in UTF-16 code units."""
    starts = _line_starts(text)
    return tuple(
        Diagnostic(
            range=Range(start=_position(text, starts, found.start), end=_position(text, starts, found.end)),
            severity=_SEVERITIES[found.severity],
            code=found.code,
            message=found.message,
        )
        for found in findings
    )


def quoted(name: str) -> str:
    """A name out of a file, safe to show: one line, nothing invisible, of bounded length."""
    return f"`{cut(escape_line(name), _SHOWN)}`"


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_BREAK.finditer(text))]


def _position(text: str, starts: list[int], offset: int) -> Position:
    line = bisect_right(starts, offset) - 1
    column = len(text[starts[line] : offset].encode("utf-16-le", "surrogatepass")) // 2
    return Position(line=line, character=column)
