"""The sessions as a table for a terminal, with what each waits for, and from whom."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from abey.shared.escaping import escape_line
from abey_cli.ages import age
from abey_cli.render import Shorten, set_aside

if TYPE_CHECKING:
    from abey_cli.protocol_types import Session

NARROWEST, NARROW, WIDE = 40, 60, 110
"""Columns below which only the session and its state are there, only these and the title, and not all."""
FLEXIBLE: tuple[tuple[str, Literal["title", "agent", "cwd"]], ...] = (
    ("title", "title"),
    ("agent", "agent"),
    ("folder", "cwd"),
)
WAITS = {
    "question": "waits for you: answer",
    "approval": "waits for you: approve",
    "uncertain": "waits for you: settle",
    "external": "waits for a result:",
}
"""What is waited for, and from whom, the most urgent first."""
STYLES = {"waits for you": "yellow", "waits for": "cyan", "works": "green", "failed": "red"}


def sessions_table(sessions: Sequence[Session], shorten: Shorten, now: float, columns: int, *, colours: bool) -> str:
    """Lines no longer than `columns`."""
    told = [waits_for(session) for session in sessions]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    rows: list[list[Text]] = [[Text(shorten(session["sessionId"])) for session in sessions]]
    table.add_column("session", no_wrap=True, min_width=_widest("session", rows[0]))
    rows.append([Text(words, _style(words)) for words in told])
    table.add_column("state", no_wrap=True, width=min(_widest("state", rows[1]), columns // 3))
    if columns >= NARROW:
        rows.append([Text(age(session["updatedAt"], now)) for session in sessions])
        rows.append([Text(_cost(session)) for session in sessions])
        for name, cells in zip(("age", "cost"), rows[2:], strict=True):
            table.add_column(name, no_wrap=True, justify="right", min_width=_widest(name, cells))
    for name, member in FLEXIBLE if columns >= WIDE else FLEXIBLE[:1] if columns >= NARROWEST else ():
        rows.append([Text(escape_line(session[member])) for session in sessions])
        table.add_column(name, no_wrap=True, ratio=2 if member == "title" else 1)
    for row in zip(*rows, strict=True):
        table.add_row(*row)
    console = Console(
        file=io.StringIO(), width=columns, force_terminal=True, color_system="standard" if colours else None
    )
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _widest(name: str, cells: Sequence[Text]) -> int:
    return max(len(name), *(cell.cell_len for cell in cells))


def waits_for(session: Session) -> str:
    """What it waits for, and from whom; what it does, or how it ended, where it waits for nothing."""
    told = _waits(session)
    return ", ".join([told, *(["child"] if session.get("parent") else []), *set_aside(session)])


def _waits(session: Session) -> str:
    for kind, words in WAITS.items():
        calls = [call for call in session["pending"] if call["kind"] == kind]
        if calls:
            more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
            return f"{words} {escape_line(calls[0]['tool'])}{more}"
    children = [call for call in session["pending"] if call.get("childId")]
    if children:
        return f"waits for a child: {escape_line(children[0]['tool'])}"
    if session["activity"] != "idle":
        return f"works: {escape_line(session['activity'])}"
    if session.get("lastError") and session["state"] != "stopped":
        return f"failed: {escape_line(session['lastError']['kind'])}"
    if session["state"] == "completed":
        turn = session.get("turn")
        return "empty" if turn is None else escape_line(turn.get("end", "answered"))
    return "stopped" if session["state"] == "stopped" else "ready"


def _style(told: str) -> str:
    return next((style for start, style in STYLES.items() if told.startswith(start)), "")


def _cost(session: Session) -> str:
    cost = session["usage"].get("cost")
    return "" if cost is None else f"{cost:.4f}"
