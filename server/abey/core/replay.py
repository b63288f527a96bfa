"""The fold: a session and its next record give the session after it.

The only place where durable state changes. A running daemon and a daemon that loads the journal go through the same
function, so what is replayed is what was remembered.
"""

from collections.abc import Callable, Iterable

from abey.core.budget import total
from abey.core.calls import update_call
from abey.core.edits import IllegalRecord, map_calls, map_open_calls, with_answer, with_turn
from abey.core.history import turn_digest, turn_messages
from abey.core.idempotency import noted
from abey.core.notes import repair_note
from abey.core.session import AnswerEntry, Call, InputEntry, NoteEntry, Session, Turn, open_calls
from abey.core.session_rules import with_rules
from abey.core.titles import titled
from abey.core.values import replace
from abey.protocol import journal as j
from abey.protocol.session import LastError, Paused, TurnEnd


def fold(records: Iterable[j.Record]) -> Session | None:
    """The session that these records tell, or None without any. Raises IllegalRecord."""
    session: Session | None = None
    for record in records:
        session = apply(session, record)
    return session


def apply(session: Session | None, record: j.Record) -> Session:
    """The session after `record`. Raises IllegalRecord and changes nothing where it cannot follow."""
    if session is None:
        return _created(record)
    if record.rev != session.revision + 1:
        raise IllegalRecord(f"record {record.rev} cannot follow revision {session.revision}")
    after = titled(_apply(session, record), record.data)
    return replace(after, revision=record.rev, updated_at=record.at, requests=noted(after.requests, record))


def recover(session: Session) -> Session:
    """The session after a restart: nothing runs any more, so what was started and not finished may have run. Of a call
    that has a child, the child's journal tells."""

    def settle(call: Call) -> Call:
        if call.state != "running" or call.child_id is not None:
            return call
        safe = call.verdict is not None and call.verdict.idempotent and not call.in_doubt
        return replace(call, state="ready" if safe else "uncertain", question=None)

    return map_open_calls(_interrupted(session), settle)


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
    return Session(
        created=record.data,
        created_at=record.at,
        updated_at=record.at,
        revision=record.rev,
        config_hash=record.data.config_hash,
        title=record.data.title,
        requests=noted({}, record),
    )


def _apply(session: Session, record: j.Record) -> Session:
    data, at = record.data, record.at
    match data:
        case j.Input():
            return _input(session, data, record)
        case j.InputQueued():
            return replace(session, queue=(*session.queue, data))
        case j.ModelRequested():
            return _model_requested(session, data, NoteEntry("model call interrupted", record.rev, at))
        case j.Candidate():
            return _candidate(session, data, record)
        case j.Compacted():
            return _compacted(session, data, record)
        case j.ModelFailure():
            error = LastError(kind=f"model/{data.code}", message=data.message, at=at)
            return replace(session, last_error=error, tries=session.tries + data.attempts, asked=None, asked_note=None)
        case j.ToolResults():
            return with_answer(session, lambda answer: replace(answer, committed=True))
        case j.Waiting():
            return replace(session, driven_by=data.driven_by)
        case j.Paused():
            return replace(session, paused=Paused(reason=data.reason, at=at))
        case j.Resumed():
            return replace(session, paused=None)
        case j.Repaired():
            return _repaired(session, data, record)
        case j.Imported():
            # it was made here then; the journal keeps when it was made elsewhere, and nobody here has said *always*
            return replace(_doubted(session, lambda call: call.state == "deferred"), created_at=at, rules=())
        case j.Updated():
            return _updated(session, data)
        case j.RuleAdded() | j.RuleRemoved():
            return with_rules(session, data)
        case j.Skipped() | j.Answered():
            return session
        case j.Final() | j.Cancelled() | j.Failed() | j.Stopped():
            return _ended(session, data, at)
        case _:
            return _call_record(session, record)


def _call_record(session: Session, record: j.Record) -> Session:
    data = record.data
    call_id = getattr(data, "call_id", None)
    batch = session.batch
    if batch is None or all(call.call_id != call_id for call in batch.calls):
        raise IllegalRecord(f"record {record.rev}: {data.type} names call {call_id}, which is not open")
    counted = isinstance(data, j.CallDecided) and all(call.verdict is None for call in batch.calls)
    session = map_calls(session, lambda call: update_call(call, record) if call.call_id == call_id else call)
    if isinstance(data, j.CallStarted) and data.child_id is not None:
        session = replace(session, children=(*session.children, data.child_id))
    return with_turn(session, lambda turn: replace(turn, steps=turn.steps + 1)) if counted else session


def _input(session: Session, data: j.Input, record: j.Record) -> Session:
    entry = InputEntry(data.input_id, data.parts, record.rev, record.at)
    queue = tuple(queued for queued in session.queue if queued.input_id != data.input_id)
    session = replace(session, queue=queue)
    turn = session.open_turn
    if turn is None:
        turn = Turn(data.turn_id, len(session.turns) + 1, record.at, (*session.untold, entry))
        return replace(session, turns=(*session.turns, turn), last_error=None, untold=())
    if turn.turn_id != data.turn_id:
        raise IllegalRecord(f"record {record.rev}: input for turn {data.turn_id} while {turn.turn_id} is open")
    return with_turn(session, lambda turn: replace(turn, entries=(*turn.entries, entry)))


def _model_requested(session: Session, data: j.ModelRequested, note: NoteEntry) -> Session:
    counted = 0 if data.sums_up is not None else 1
    session = with_turn(_interrupted(session), lambda turn: replace(turn, steps=turn.steps + counted))
    return replace(session, asked=data, asked_note=note, config_hash=data.config_hash, driven_by=data.driven_by)


def _interrupted(session: Session) -> Session:
    """A request that got no answer leaves a note where it was made."""
    note = session.asked_note
    if note is None or session.open_turn is None:
        return session

    def insert(turn: Turn) -> Turn:
        before = tuple(entry for entry in turn.entries if entry.revision < note.revision)
        return replace(turn, entries=(*before, note, *turn.entries[len(before) :]))

    return replace(with_turn(session, insert), asked=None, asked_note=None)


def _candidate(session: Session, data: j.Candidate, record: j.Record) -> Session:
    calls = tuple(Call(call.call_id, call.tool, call.arguments, fault=call.fault) for call in data.calls)
    entry = AnswerEntry(data.step_id, data.blocks, calls, data.finish_reason, record.rev, record.at)
    session = with_turn(session, lambda turn: replace(turn, entries=(*turn.entries, entry)))
    return replace(
        session,
        usage=total(session.usage, data.usage),
        context_tokens=data.usage.input_tokens + data.usage.output_tokens or None,
        tries=session.tries + data.attempts,
        asked=None,
        asked_note=None,
        last_error=None,
    )


def _compacted(session: Session, data: j.Compacted, record: j.Record) -> Session:
    note = NoteEntry(f"summed up for the model, up to revision {data.up_to}: {data.summary}", record.rev, record.at)
    session = with_turn(session, lambda turn: replace(turn, entries=(*turn.entries, note)))
    return replace(
        session,
        usage=total(session.usage, data.usage),
        context_tokens=None,
        tries=session.tries + data.attempts,
        compacted=data,
        asked=None,
        asked_note=None,
        last_error=None,
    )


def _repaired(session: Session, data: j.Repaired, record: j.Record) -> Session:
    session = _doubted(session, lambda call: call.child_id is not None) if data.may_have_run else session
    return _noted(session, NoteEntry(repair_note(data), record.rev, record.at))


def _noted(session: Session, note: NoteEntry) -> Session:
    """The note stands in the last turn, whether it has ended or not; before the first one it is kept for that."""
    if not session.turns:
        return replace(session, untold=(*session.untold, note))
    turn = session.turns[-1]
    return replace(session, turns=(*session.turns[:-1], replace(turn, entries=(*turn.entries, note))))


def _doubted(session: Session, spared: Callable[[Call], bool]) -> Session:
    """Nobody can tell of an open call what became of it, unless it is spared."""

    def doubt(call: Call) -> Call:
        if spared(call):
            return call
        return replace(call, in_doubt=True, state="uncertain" if call.verdict else "ready")

    return map_open_calls(session, doubt) if session.open_turn is not None else session


def _updated(session: Session, data: j.Updated) -> Session:
    return session if data.archived is None else replace(session, archived=data.archived)


def _ended(session: Session, data: j.Final | j.Cancelled | j.Failed | j.Stopped, at: str) -> Session:
    end: TurnEnd
    match data:
        case j.Final():
            end = "answered"
        case j.Failed():
            end = data.end
            session = replace(session, last_error=LastError(kind=data.kind, message=data.message, at=at))
        case j.Cancelled():
            end = "cancelled"
            session = replace(session, tries=session.tries + data.attempts)
        case j.Stopped():
            end = "cancelled"
            session = replace(session, stopped=True, queue=(), tries=session.tries + data.attempts)
    session = _interrupted(session)
    if open_calls(session):
        raise IllegalRecord(f"{data.type} would end a turn that has open calls")
    if session.open_turn is None:
        return session
    before = next((turn.digest for turn in reversed(session.turns) if turn.end is not None), "")

    def close(turn: Turn) -> Turn:
        messages = turn_messages(turn.entries)
        return replace(turn, end=end, ended_at=at, messages=messages, digest=turn_digest(before, messages))

    return with_turn(session, close)
