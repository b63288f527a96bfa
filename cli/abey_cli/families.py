"""Sessions with children: which of these work, and what they wait for (machine.md, Child sessions)."""

from collections.abc import Iterator
from typing import Any

from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import Failure

DEEPEST = 8
"""Levels below a session that are looked at: deeper ones are never made."""
BEGINS_LATER = "begins when this session goes on"
"""How the reason of a call ends whose child nobody makes before somebody drives the parent."""


def pending_below(context: Context, calls: list[Any], levels: int = DEEPEST) -> Iterator[Any]:
    """The pending calls of the children that work on `calls`, each child's before those of its own children."""
    for child_id in [call["childId"] for call in calls if call.get("childId")] if levels else ():
        try:
            found = list(lookup.pending(context, sessionId=child_id))
        except Failure as failure:
            if not _is_of_a_session(failure):
                raise
            continue
        yield from found
        yield from pending_below(context, found, levels - 1)


def with_family(context: Context, session: Any) -> Any:
    """The session, to be asked about: its children's calls stand after its own."""
    return {**session, "pending": [*session["pending"], *pending_below(context, session["pending"])]}


def children_at_work(context: Context, session: Any, levels: int = DEEPEST) -> bool:
    """Whether anything goes on in a child without a decision of somebody."""
    calls = [call for call in session["pending"] if call.get("childId")]
    return any(_works(context, call, levels) for call in calls)


def _works(context: Context, call: Any, levels: int) -> bool:
    try:
        child = context.request("agents/get", sessionId=call["childId"])["session"]
    except Failure as failure:
        if not _is_of_a_session(failure):
            raise
        return failure.kind == "session/unknown" and not call.get("reason", "").endswith(BEGINS_LATER)
    if child["activity"] != "idle" or child["state"] in ("completed", "stopped"):
        return True  # of one that has ended the parent hears in a moment
    runs = any(one["kind"] == "running" and not one.get("childId") for one in child["pending"])
    return runs or (levels > 0 and children_at_work(context, child, levels - 1))


def _is_of_a_session(failure: Failure) -> bool:
    return (failure.kind or "").startswith("session/")
