"""What is shown of a call that a child works on: for whom the child waits, and for what."""

from collections.abc import Callable, Sequence

from abey.core.children import DEEPEST
from abey.core.completing import pending_kind
from abey.core.machine import Machine, Work
from abey.core.session import open_calls
from abey.protocol.transcript import Pending

Look = Callable[[str], Machine | None]
"""The session of an id, as far as it is known."""

WAITS = {
    "approval": "an approval of",
    "external": "a result of",
    "question": "an answer to",
    "uncertain": "a decision on the uncertain call of",
}


def pending_with_children(pending: Sequence[Pending], work: Work, look: Look) -> tuple[Pending, ...]:
    """The same; the reason of a call that a child works on says which one waits, and for what. `work` is what is in
    flight for the session."""

    def told(call: Pending) -> Pending:
        if call.child_id is None:
            return call
        return call.model_copy(update={"reason": why_open(call.child_id, work, look)})

    return tuple(map(told, pending))


def why_open(child_id: str, parents: Work, look: Look, levels: int = DEEPEST) -> str:
    """Why the turn of a child has not ended, in a line for people; `parents` is what is in flight for its parent."""
    child = look(child_id)
    if child is None:
        begins = any(one.child_id == child_id for one in parents.live)
        return f"session {child_id} {'is about to begin' if begins else 'begins when this session goes on'}"
    session, work = child.session, child.work
    for call in open_calls(session):
        kind = pending_kind(call)
        if kind == "running" and call.child_id is not None and levels:
            return f"session {child_id}: {why_open(call.child_id, work, look, levels - 1)}"
        if kind is not None and kind != "running":
            return f"session {child_id} waits for {WAITS[kind]} {call.tool}"
    if session.paused is not None:
        return f"session {child_id} is paused"
    if work.live or work.run is not None:
        return f"session {child_id} works on it"
    if session.last_error is not None:
        return f"session {child_id} rests after an error: {session.last_error.message}"
    return f"session {child_id} rests, and goes on when this session goes on"
