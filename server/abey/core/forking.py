"""The records of a fork: those of its source up to where it leaves, under another id (machine.md, Forks)."""

from collections.abc import Sequence

from abey.core.replay import apply
from abey.core.retelling import renewed, retold
from abey.core.session import Session, open_calls
from abey.protocol import journal as j
from abey.protocol.base import Timestamp
from abey.protocol.transcript import Client
from abey.shared.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Fork:
    """What is new about a fork. `entropy` is the chance that its tokens are made of."""

    session_id: str
    title: str
    client: Client
    now: Timestamp
    entropy: bytes


def fork_of(records: Sequence[j.Record], at: int, fork: Fork) -> tuple[j.Record, ...]:
    """The records of the fork that leaves a session at the revision `at`; `records` are all that the session has.

    Calls have tokens of their own and no children: those of the source are the source's. So is the file that the source
    was imported from.
    """
    first = records[0]
    if not isinstance(first.data, j.Created):
        raise ValueError("a session begins with created")
    source = first.data.session_id
    created = first.data.model_copy(
        update={
            "session_id": fork.session_id,
            "title": fork.title,
            "client": fork.client,
            "parent": None,
            "parent_call": None,
            "depth": None,
            "forked_from": source,
            "forked_at": at,
            "ran": _ran(records, at) or None,
        }
    )
    again = renewed(fork.entropy)
    copies = (replace(one, data=_own(retold(one.data, again))) for one in records[1:] if one.rev <= at)
    return (j.Record(first.rev, fork.now, created), *copies)


def _own(data: j.RecordData) -> j.RecordData:
    match data:
        case j.CallStarted():
            return data.model_copy(update={"child_id": None})
        case j.Imported():
            return data.model_copy(update={"original": None, "records": None})
        case _:
            return data


def _ran(records: Sequence[j.Record], at: int) -> tuple[str, ...]:
    """The calls, undecided at `at`, that have started on any line of the source, or may have, in model order."""
    undecided: tuple[str, ...] = ()
    ran = set[str]()
    session: Session | None = None
    for record in records:
        session = apply(session, record)
        calls = open_calls(session)
        ran.update(call.call_id for call in calls if call.may_have_run or call.ran_before)
        if record.rev == at:
            undecided = tuple(call.call_id for call in calls if call.undecided)
    return tuple(call_id for call_id in undecided if call_id in ran)
