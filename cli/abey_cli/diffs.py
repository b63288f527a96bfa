"""Unified diffs for people: escaped, and on a terminal in colours."""

from collections.abc import Iterator

from abey.shared.escaping import escape

BOLD, RED, GREEN, CYAN = 1, 31, 32, 36
_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
_HEADING = 2
"""Lines that name the file."""


def patch_lines(patch: str) -> list[str]:
    return escape(patch.removesuffix("\n")).split("\n")


def painted(lines: list[str]) -> Iterator[str]:
    """The lines of one patch in the colours that they have everywhere."""
    for at, line in enumerate(lines):
        colour = BOLD if at < _HEADING else _COLOURS.get(line[:1])
        yield line if colour is None else f"\x1b[{colour}m{line}\x1b[m"
