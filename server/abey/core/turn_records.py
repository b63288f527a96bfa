"""What the records of input, of the model and of the ends of turns do to a session (machine.md, State)."""

from collections.abc import Callable, Iterable
from itertools import takewhile

from abey.core.budget import total
from abey.core.call import Call
from abey.core.conversation import Message
from abey.core.edits import IllegalRecord, turns_with, with_turn
from abey.core.history import digest_before, turn_told
from abey.core.rows import Row
from abey.core.session import (
    AnswerEntry,
    Dropped,
    Entry,
    InputEntry,
    NoteEntry,
    Session,
    Turn,
    ends_with_an_answer,
    open_calls,
    queue_order,
)
from abey.protocol import journal as j
from abey.protocol.base import Timestamp
from abey.protocol.rulings import Ruling
from abey.protocol.session import Driver, LastError, TurnEnd, Usage
from abey.shared.values import copier, replace


def with_input(session: Session, data: j.Input, record: j.Record) -> Session:
    entry = InputEntry(data.input_id, data.parts, record.rev, record.at, bool(data.repairs))
    session = _unqueued(session, data.input_id)
    turn = session.open_turn
    if turn is None:
        number = session.turn_count + 1
        turn = Turn(data.turn_id, number, record.at, (*session.untold, entry), began_rev=record.rev)
        return _with_a_turn(session, session.turns.with_next(turn), None, ())
    if turn.turn_id != data.turn_id:
        raise IllegalRecord(f"record {record.rev}: input for turn {data.turn_id} while {turn.turn_id} is open")
    return with_turn(session, lambda turn: replace(turn, entries=(*turn.entries, entry)))


def continued(session: Session, data: j.Continued, record: j.Record) -> Session:
    if session.open_turn is not None:
        raise IllegalRecord(f"record {record.rev}: turn {data.turn_id} begins while another one is open")
    session = _unqueued(session, data.input_id)
    number, began = session.turn_count + 1, record.rev
    turn = Turn(data.turn_id, number, record.at, session.untold, continues=data.input_id, began_rev=began)
    return _with_a_turn(session, session.turns.with_next(turn), None, ())


_with_a_turn: Callable[[Session, Row[Turn], None, tuple[NoteEntry, ...]], Session]
_with_a_turn = copier(Session, "turns", "last_error", "untold")


def withdrawn(session: Session, data: j.Withdrawn, _record: j.Record) -> Session:
    return _dropped(session, [data.input_id], "withdrawn")


def model_requested(session: Session, data: j.ModelRequested, note: NoteEntry) -> Session:
    counted = 0 if data.sums_up is not None else 1
    session = interrupted(session)
    turns = turns_with(session, lambda turn: _counted(turn, turn.steps + counted))
    return _asked(session, turns, data, note, data.config_hash, data.driven_by)


_counted: Callable[[Turn, int], Turn] = copier(Turn, "steps")
_asked: Callable[[Session, Row[Turn], j.ModelRequested, NoteEntry, str, Driver], Session]
_asked = copier(Session, "turns", "asked", "asked_note", "config_hash", "driven_by")


def interrupted(session: Session) -> Session:
    """A request that got no answer leaves a note where it was made."""
    note = session.asked_note
    if note is None or session.open_turn is None:
        return session

    def insert(turn: Turn) -> Turn:
        before = tuple(entry for entry in turn.entries if entry.revision < note.revision)
        return replace(turn, entries=(*before, note, *turn.entries[len(before) :]))

    return replace(with_turn(session, insert), asked=None, asked_note=None)


def answered(session: Session, data: j.Candidate, record: j.Record) -> Session:
    calls = tuple(
        Call(call.call_id, call.tool, call.arguments, fault=call.fault, ruling=_ruling(data, call.call_id))
        for call in data.calls
    )
    entry = AnswerEntry(data.step_id, data.blocks, calls, data.finish_reason, record.rev, record.at)

    def add(turn: Turn) -> Turn:
        return _with_answer(turn, (*turn.entries, entry), total(turn.usage, data.usage))

    used, tokens = total(session.usage, data.usage), data.usage.input_tokens + data.usage.output_tokens or None
    tries = session.tries + data.attempts
    return _heard(session, turns_with(session, add), used, tokens, tries, None, None, None)


_with_answer: Callable[[Turn, tuple[Entry, ...], Usage], Turn] = copier(Turn, "entries", "usage")
_heard: Callable[[Session, Row[Turn], Usage, int | None, int, None, None, None], Session]
_heard = copier(Session, "turns", "usage", "context_tokens", "tries", "asked", "asked_note", "last_error")


def spent(session: Session, usage: Usage | None) -> Session:
    """What a model call used counts for the session and for the turn that it was made in."""
    if usage is None:
        return session
    turns = turns_with(session, lambda turn: replace(turn, usage=total(turn.usage, usage)))
    return replace(session, turns=turns, usage=total(session.usage, usage))


def _ruling(data: j.Candidate, call_id: str) -> Ruling | None:
    """The ruling that counts of those on one call: the first denial, else the first question."""
    rulings = sorted(data.verdicts or (), key=lambda ruling: ruling.kind != "deny")
    return next((ruling for ruling in rulings if ruling.call_id == call_id), None)


def model_failed(session: Session, data: j.ModelFailure, record: j.Record) -> Session:
    return replace(
        spent(session, data.usage),
        tries=session.tries + data.attempts,
        asked=None,
        asked_note=None,
        last_error=LastError(kind=f"model/{data.code}", message=data.message, at=record.at),
    )


def compacted(session: Session, data: j.Compacted, record: j.Record) -> Session:
    note = NoteEntry(f"summed up for the model, up to revision {data.up_to}: {data.summary}", record.rev, record.at)
    session = with_turn(session, lambda turn: replace(turn, entries=(*turn.entries, note)))
    return replace(
        spent(session, data.usage),
        context_tokens=None,
        tries=session.tries + data.attempts,
        compactions=(*session.compactions, (record.rev, data)),
        asked=None,
        asked_note=None,
        last_error=None,
    )


def ended(session: Session, data: j.Final | j.Cancelled | j.Failed | j.Stopped, record: j.Record) -> Session:
    end: TurnEnd
    at = record.at
    match data:
        case j.Final():
            end = "answered"
        case j.Failed():
            end = data.end
            session = _failed(session, data, at)
        case j.Cancelled():
            end = "cancelled"
            session = replace(session, tries=session.tries + data.attempts)
        case j.Stopped():
            end = "cancelled"
            session = _dropped(session, [queued.input_id for queued in session.queue], "stopped")
            session = replace(session, stopped_rev=record.rev, paused=None, tries=session.tries + data.attempts)
    session = interrupted(session)
    if open_calls(session):
        raise IllegalRecord(f"{data.type} would end a turn that has open calls")
    if session.open_turn is None:
        return session
    before = digest_before(session)

    def close(turn: Turn) -> Turn:
        messages, digest = turn_told(before, turn.entries)
        return _closed(turn, end, at, record.rev, messages, digest)

    return _without_idle_continues(with_turn(session, close))


_closed: Callable[[Turn, TurnEnd, Timestamp, int, tuple[Message, ...], str], Turn]
_closed = copier(Turn, "end", "ended_at", "ended_rev", "messages", "digest")


def _failed(session: Session, data: j.Failed, at: str) -> Session:
    """The model call that a tripwire was about had its end, and is paid for."""
    session = replace(session, last_error=LastError(kind=data.kind, message=data.message, at=at))
    if data.tripwire is None:
        return session
    return replace(
        spent(session, data.usage),
        tries=session.tries + (data.attempts or 0),
        asked=None,
        asked_note=None,
    )


def _without_idle_continues(session: Session) -> Session:
    """What would begin the next turn without input is rejected where the last one ended with an answer."""
    if not session.queue or not ends_with_an_answer(session):
        return session
    idle = takewhile(lambda queued: queued.continues, queue_order(session))
    return _dropped(session, [queued.input_id for queued in idle], "rejected")


def _unqueued(session: Session, input_id: str) -> Session:
    if not session.queue:
        return session
    return replace(session, queue=tuple(queued for queued in session.queue if queued.input_id != input_id))


def _dropped(session: Session, input_ids: Iterable[str], how: Dropped) -> Session:
    for input_id in input_ids:
        session = replace(_unqueued(session, input_id), dropped={**session.dropped, input_id: how})
    return session
