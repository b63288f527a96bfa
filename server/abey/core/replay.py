"""The fold: a session and its next record give the session after it.

The only place where durable state changes. A running daemon and a daemon that loads the journal go through the same
function, so what is replayed is what was remembered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from abey.core.call import Call
from abey.core.calls import update_call
from abey.core.edits import IllegalRecord, entries_with, exchanged, map_open_calls, with_answer
from abey.core.forks import forked, made_at
from abey.core.idempotency import Requests, noted
from abey.core.lines import marked, rewound
from abey.core.notes import repair_note
from abey.core.rows import Row
from abey.core.seeds import seeded
from abey.core.session import AnswerEntry, Entry, NoteEntry, Session, Turn
from abey.core.session_rules import with_rules
from abey.core.titles import titled
from abey.core.transitions import transition_after
from abey.core.turn_records import (
    answered,
    compacted,
    continued,
    ended,
    interrupted,
    model_failed,
    model_requested,
    with_input,
    withdrawn,
)
from abey.protocol import journal as j
from abey.protocol.base import Timestamp
from abey.protocol.lines import Transition
from abey.protocol.session import Driver, Paused
from abey.shared.values import copier, replace


def fold(records: Iterable[j.Record]) -> Session | None:
    """The session that these records tell, or None without any. Raises IllegalRecord."""
    return reduce(apply, records, None)


def after_each(session: Session | None, records: Iterable[j.Record]) -> Iterator[Session]:
    """The session after each of the records that follow. Raises IllegalRecord."""
    for record in records:
        session = apply(session, record)
        yield session


def apply(session: Session | None, record: j.Record) -> Session:
    """The session after `record`. Raises IllegalRecord and changes nothing where it cannot follow."""
    if session is None:
        return _created(record)
    if record.rev != session.revision + 1:
        raise IllegalRecord(f"record {record.rev} cannot follow revision {session.revision}")
    data = record.data
    after = _FOLDS.get(type(data), _call_record)(session, data, record)
    turns, requests = marked(after, record.rev), noted(after.requests, record)
    after = _at_record(after, turns, record.rev, record.at, requests, transition_after(after, data))
    return forked(after) if record.rev == after.created.forked_at else after


def recover(session: Session) -> Session:
    """The session after a restart: nothing runs any more, so what was started and not finished may have run. Of a call
    that has a child, the child's journal tells."""

    def settle(call: Call) -> Call:
        if call.state != "running" or call.child_id is not None:
            return call
        safe = call.verdict is not None and call.verdict.idempotent and not call.in_doubt
        return replace(call, state="ready" if safe else "uncertain", question=None)

    return map_open_calls(interrupted(session), settle)


def overdue(session: Session, now: str) -> Session:
    """The session as it is to be shown at `now`: calls whose time is over are, though nobody has recorded it yet."""

    def expire(call: Call) -> Call:
        deadline = call.verdict.expires_at if call.verdict else None
        if deadline is None or deadline > now or call.state != "deferred":
            return call
        return replace(call, state="expired", ended_at=deadline)

    return map_open_calls(session, expire) if session.batch is not None else session


def _created(record: j.Record) -> Session:
    if not isinstance(record.data, j.Created):
        raise IllegalRecord(f"a session begins with created, not with {record.data.type}")
    session = Session(
        created=record.data,
        created_at=record.at,
        updated_at=record.at,
        revision=record.rev,
        first_rev=record.rev,
        config_hash=record.data.config_hash,
        title=record.data.title,
        requests=noted({}, record),
    )
    return forked(session) if record.rev == session.created.forked_at else session


def _call_record(session: Session, data: j.RecordData, record: j.Record) -> Session:
    call_id = getattr(data, "call_id", None)
    turn, batch = session.turns.last, session.batch
    calls = batch.calls if batch is not None else ()
    place = next((place for place, call in enumerate(calls) if call.call_id == call_id), None)
    if turn is None or batch is None or place is None:
        raise IllegalRecord(f"record {record.rev}: {data.type} names call {call_id}, which is not open")
    counted = type(data) is j.CallDecided and all(call.verdict is None for call in calls)
    # of many calls the others are not looked at: an answer may have thousands
    after = (*calls[:place], update_call(calls[place], record), *calls[place + 1 :])
    changed = _about_a_call(batch, after, batch.dispatched_rev or record.rev)
    turn = _in_a_step(turn, entries_with(turn, batch, changed), turn.steps + counted)
    turns = session.turns.with_last(turn)
    if type(data) is j.CallStarted and data.child_id is not None:
        return replace(session, turns=turns, children=(*session.children, data.child_id))
    return exchanged(session, turns)


def _input(session: Session, data: j.Input, record: j.Record) -> Session:
    return titled(with_input(session, data, record), data)


def _queued(session: Session, data: j.InputQueued, _record: j.Record) -> Session:
    return titled(replace(session, queue=(*session.queue, data)), data)


def _requested(session: Session, data: j.ModelRequested, record: j.Record) -> Session:
    return model_requested(session, data, NoteEntry("model call interrupted", record.rev, record.at))


def _committed(session: Session, _data: j.ToolResults, record: j.Record) -> Session:
    return with_answer(session, lambda answer: _committed_at(answer, record.rev))


def _waiting(session: Session, data: j.Waiting, _record: j.Record) -> Session:
    return _driven_by(session, data.driven_by)


def _paused(session: Session, data: j.Paused, record: j.Record) -> Session:
    return replace(session, paused=Paused(reason=data.reason, at=record.at))


def _resumed(session: Session, _data: j.Resumed, _record: j.Record) -> Session:
    return replace(session, paused=None)


def _updated(session: Session, data: j.Updated, _record: j.Record) -> Session:
    session = session if data.archived is None else replace(session, archived=data.archived)
    return titled(session, data)


def _imported(session: Session, _data: j.Imported, record: j.Record) -> Session:
    """It was made here then; the journal keeps when it was made elsewhere, and nobody here has said *always*."""
    doubted = _doubted(session, lambda call: call.state == "deferred" or call.asked_about)
    return replace(doubted, created_at=made_at(session, record), rules=())


def _unchanged(session: Session, _data: j.RecordData, _record: j.Record) -> Session:
    return session


def _repaired(session: Session, data: j.Repaired, record: j.Record) -> Session:
    session = _doubted(session, lambda call: call.child_id is not None) if data.may_have_run else session
    return _noted(session, NoteEntry(repair_note(data), record.rev, record.at))


def _noted(session: Session, note: NoteEntry) -> Session:
    """The note stands in the last turn, whether it has ended or not; before the first one it is kept for that."""
    if not session.turns:
        return replace(session, untold=(*session.untold, note))
    turn = session.turns[-1]
    return replace(session, turns=session.turns.with_last(replace(turn, entries=(*turn.entries, note))))


def _doubted(session: Session, spared: Callable[[Call], bool]) -> Session:
    """Nobody can tell of an open call what became of it, unless it is spared."""

    def doubt(call: Call) -> Call:
        if spared(call):
            return call
        return replace(call, in_doubt=True, state="uncertain" if call.verdict else "ready", question=None)

    return map_open_calls(session, doubt) if session.open_turn is not None else session


_At = Callable[[Session, Row[Turn], int, Timestamp, Requests, Transition | None], Session]
_at_record: _At = copier(Session, "turns", "revision", "updated_at", "requests", "transition")
_driven_by: Callable[[Session, Driver], Session] = copier(Session, "driven_by")
_committed_at: Callable[[AnswerEntry, int], AnswerEntry] = copier(AnswerEntry, "committed_rev")
_about_a_call: Callable[[AnswerEntry, tuple[Call, ...], int], AnswerEntry]
_about_a_call = copier(AnswerEntry, "calls", "dispatched_rev")
_in_a_step: Callable[[Turn, tuple[Entry, ...], int], Turn] = copier(Turn, "entries", "steps")

# found by its type at once: to go through all of them in a `match` would be the most of applying a record
_FOLDS: Mapping[type[j.RecordData], Callable[[Session, Any, j.Record], Session]] = {
    j.Input: _input,
    j.InputQueued: _queued,
    j.Continued: continued,
    j.Withdrawn: withdrawn,
    j.Seeded: seeded,
    j.Rewound: rewound,
    j.ModelRequested: _requested,
    j.Candidate: answered,
    j.Compacted: compacted,
    j.ModelFailure: model_failed,
    j.ToolResults: _committed,
    j.Waiting: _waiting,
    j.Final: ended,
    j.Cancelled: ended,
    j.Failed: ended,
    j.Stopped: ended,
    j.Paused: _paused,
    j.Resumed: _resumed,
    j.Repaired: _repaired,
    j.Imported: _imported,
    j.Updated: _updated,
    j.RuleAdded: with_rules,
    j.RuleRemoved: with_rules,
    j.Skipped: _unchanged,
    j.Answered: _unchanged,
}
"""What each record does; those that are not here name a call."""
