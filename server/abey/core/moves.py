"""Which records take a session, and a call of it, from one state to another: what docs/architecture.md draws.

A record that is not named between two states leaves the state as it was. Nothing reads the tables to decide: they are
held against every transition of the tests, and every move in them is one that these have seen.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from abey.core.call import CallState
from abey.core.session import AnswerEntry, Session
from abey.protocol.session import State

RESTART = "a restart"
"""What moves calls besides records: their daemon went while they ran."""


class Move(NamedTuple):
    """Of a session or of a call; `before` is None where it begins, `cause` a record's type or RESTART."""

    of: Literal["session", "call"]
    before: State | CallState | None
    cause: str
    after: State | CallState


SESSION: Mapping[tuple[State | None, State], tuple[str, ...]] = {
    (None, "completed"): ("created",),
    ("completed", "userTurn"): ("input", "continued"),
    ("userTurn", "llmTurn"): ("candidate",),
    ("llmTurn", "partialUserTurn"): ("call-decided", "call-finished"),
    ("llmTurn", "userTurn"): ("call-finished",),
    ("partialUserTurn", "userTurn"): ("call-finished", "call-resolved", "call-expired"),
    ("userTurn", "completed"): ("candidate", "failed", "cancelled"),
    ("userTurn", "stopped"): ("stopped",),
    ("completed", "stopped"): ("stopped",),
}

JUMPS: Mapping[str, tuple[frozenset[State], frozenset[State]]] = {
    "rewound": (
        frozenset({"completed", "userTurn", "llmTurn", "partialUserTurn"}),
        frozenset({"completed", "userTurn", "llmTurn"}),
    ),
    "seeded": (frozenset({"completed", "stopped"}), frozenset({"completed", "userTurn", "llmTurn"})),
}
"""Records that take a session from any of these states to any of those. They make its calls anew, in any state."""

CALL: Mapping[tuple[CallState | None, CallState], tuple[str, ...]] = {
    (None, "ready"): ("candidate",),
    ("ready", "running"): ("call-started",),
    ("ready", "deferred"): ("call-decided",),
    ("ready", "uncertain"): ("call-decided", "repaired", "imported"),
    ("ready", "failed"): ("call-finished",),
    ("ready", "denied"): ("call-finished", "call-resolved"),
    ("ready", "cancelled"): ("call-finished", "call-resolved"),
    ("deferred", "ready"): ("call-decided",),
    ("deferred", "approved"): ("call-resolved",),
    ("deferred", "completed"): ("call-resolved",),
    ("deferred", "failed"): ("call-resolved", "call-finished"),
    ("deferred", "denied"): ("call-resolved", "call-finished"),
    ("deferred", "cancelled"): ("call-resolved", "call-finished"),
    ("deferred", "expired"): ("call-expired",),
    ("deferred", "uncertain"): ("repaired",),
    ("approved", "running"): ("call-started",),
    ("approved", "deferred"): ("call-decided",),
    ("approved", "failed"): ("call-finished",),
    ("approved", "cancelled"): ("call-finished",),
    ("approved", "uncertain"): ("repaired", "imported"),
    ("running", "completed"): ("call-finished", "call-resolved"),
    ("running", "failed"): ("call-finished", "call-resolved"),
    ("running", "cancelled"): ("call-finished", "call-resolved"),
    ("running", "uncertain"): (RESTART, "repaired", "imported"),
    ("running", "ready"): (RESTART,),
    ("uncertain", "approved"): ("call-resolved",),
    ("uncertain", "completed"): ("call-resolved",),
    ("uncertain", "failed"): ("call-resolved",),
    ("uncertain", "denied"): ("call-finished",),
    ("uncertain", "cancelled"): ("call-resolved", "call-finished"),
}


def drawn() -> frozenset[Move]:
    """Every move of the diagrams."""
    sessions = {
        Move("session", before, cause, after) for (before, after), causes in SESSION.items() for cause in causes
    }
    calls = {Move("call", before, cause, after) for (before, after), causes in CALL.items() for cause in causes}
    jumps = {
        Move("session", before, cause, after)
        for cause, (origins, ends) in JUMPS.items()
        for before in origins
        for after in ends - {before}
    }
    return frozenset(sessions | calls | jumps)


def moves(before: Session | None, cause: str, after: Session) -> frozenset[Move]:
    """What moved where a record, or a restart, made `after` of `before`."""
    state, was = after.state, _calls(before)
    found = set[Move]()
    if before is None or before.state != state:
        found.add(Move("session", None if before is None else before.state, cause, state))
    if cause not in JUMPS:
        now = _calls(after)
        found |= {Move("call", was.get(one), cause, now[one]) for one in now if was.get(one) != now[one]}
    return frozenset(found)


def _calls(session: Session | None) -> dict[str, CallState]:
    answers = (entry for turn in (session.turns if session else ()) for entry in turn.entries)
    return {call.call_id: call.state for one in answers if isinstance(one, AnswerEntry) for call in one.calls}
