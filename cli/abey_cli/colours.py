"""What stands out on a terminal, in the colours that it has everywhere; of lines that are escaped already."""

from collections.abc import Iterable, Iterator, Sequence

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36
_OF_A_PATCH = {"+": GREEN, "-": RED, "@": CYAN}
_HEADING = 2
"""Lines of a patch that name the file."""


def coloured(text: str, colour: int) -> str:
    return f"\x1b[{colour}m{text}\x1b[m"


def painted_patch(lines: Sequence[str]) -> Iterator[str]:
    """The lines of one patch."""
    for at, line in enumerate(lines):
        colour = BOLD if at < _HEADING else _OF_A_PATCH.get(line[:1])
        yield line if colour is None else coloured(line, colour)


def painted_labels(lines: Iterable[str]) -> Iterator[str]:
    """Lines of the form `label: value`: what the lines below a label say stands out as the value does."""
    for line in lines:
        label, colon, value = line.partition(":")
        if line[:1] == " " or not colon:
            yield coloured(line, BOLD)
        else:
            yield f"{coloured(f'{label}:', DIM)}{coloured(value, BOLD) if value else ''}"


def painted_call(lines: Sequence[str], state: str) -> Iterator[str]:
    """The lines about a call that is in this state: what it came to stands back behind what it is."""
    for at, line in enumerate(lines):
        yield coloured(line, DIM) if at else coloured(line, GREEN if state == "completed" else RED)
