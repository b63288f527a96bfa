"""The diagrams of docs/architecture.md, from the tables of `core/moves.py`."""

from collections.abc import Iterable

from abey.core.call import FINAL_STATES
from abey.core.moves import CALL, JUMPS, SESSION

_START = "[*]"


def states() -> str:
    """Both diagrams in Mermaid, and between them a table of the records that jump."""
    return "\n".join(
        [*_diagram(SESSION.items(), ()), "", *_jumps(), "", *_diagram(CALL.items(), sorted(FINAL_STATES)), ""]
    )


def _diagram(table: Iterable[tuple[tuple[str | None, str], tuple[str, ...]]], ends: Iterable[str]) -> list[str]:
    moves = [f"    {before or _START} --> {after}: {', '.join(causes)}" for (before, after), causes in table]
    return ["```mermaid", "stateDiagram-v2", *moves, *(f"    {end} --> {_START}" for end in ends), "```"]


def _jumps() -> list[str]:
    rows = [f"| `{cause}` | {_named(origins)} | {_named(ends)} |" for cause, (origins, ends) in JUMPS.items()]
    return ["| record | from | to |", "|---|---|---|", *rows]


def _named(states: Iterable[str]) -> str:
    return ", ".join(f"`{state}`" for state in sorted(states))
