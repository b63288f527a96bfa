"""Where a fork leaves its source: what of the copied records is its own (machine.md, Forks).

Laws
- A fork has spent nothing and has asked nobody: what its source pays for, waits for and has begun is the source's.
- What somebody let run in the source is not let run in the fork.
"""

from abey.core.call import Call
from abey.core.calls import base_disposition
from abey.core.edits import map_open_calls
from abey.core.session import Dropped, Session
from abey.core.transitions import last_transition
from abey.protocol.base import Timestamp
from abey.protocol.journal import Record
from abey.protocol.policy import Defer, Deny
from abey.protocol.session import Usage
from abey.shared.values import replace


def forked(session: Session) -> Session:
    """The session after the last record that it has from its source: a fork, which leaves that there."""
    created = session.created
    ran = frozenset(created.ran or ())

    def warn(call: Call) -> Call:
        return replace(call, ran_before=True) if call.undecided and call.call_id in ran else call

    dropped: dict[str, Dropped] = {queued.input_id: "rejected" for queued in session.queue}
    return replace(
        map_open_calls(session, warn),
        title=created.title,
        titled=True,
        archived=False,
        queue=(),
        dropped={**session.dropped, **dropped} if dropped else session.dropped,
        rules=tuple(rule for rule in session.rules if isinstance(base_disposition(rule.disposition), Deny | Defer)),
        paused=None,
        usage=Usage(),
        asked=None,
        asked_note=None,
        transition=last_transition(session) if session.asked else session.transition,
        children=(),
        updated_at=session.created_at,
    )


def made_at(session: Session, record: Record) -> Timestamp:
    """When a session was made here that is imported with `record`: a fork of an imported one is younger than that."""
    forked_at = session.created.forked_at
    return record.at if forked_at is None or record.rev > forked_at else session.created_at
