"""Earlier revisions of a session, on the lines that it left, too (machine.md, Rewinds).

Laws
- Nothing is erased: a line that was left is kept, and every revision is on one line, where it is found again.
- What is left is left for good: the calls that were open there are closed, and their tokens do nothing.
- Lines share their beginnings: a turn that two of them have stands behind the same turns in both.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from abey.core.call import Call
from abey.core.edits import IllegalRecord, map_open_calls
from abey.core.marks import Mark
from abey.core.rows import Row
from abey.core.session import AnswerEntry, Dropped, Entry, Line, NoteEntry, Session, Turn, open_calls
from abey.core.turn_records import interrupted
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol.base import Timestamp
from abey.protocol.session import State
from abey.shared.values import copier, replace

QUIET: tuple[State, ...] = ("userTurn", "completed", "llmTurn")
"""The states that a session can go back to: in `llmTurn` before any call is judged."""


def at(session: Session, revision: int) -> Session:
    """The session as it was at `revision`: its turns, what was counted and summed up; the rest as it is now, with
    nothing queued. Its undecided calls say whether they have run since.

    Raises InvalidState for a revision that there is not, or where the session was not quiet.
    """
    if not session.first_rev <= revision <= session.revision:
        message = f"session {session.id} has the revisions {session.first_rev} to {session.revision}, not {revision}"
        raise InvalidState(message, state=session.state, legal=list(QUIET))
    line = next(line for line in kept(session) if line.revision >= revision)
    batch = _batch_at(line, revision)
    state = _loud_state(line, batch, revision)
    if state is not None:
        was = f"session {session.id} was not at rest at revision {revision}: {state}"
        message = f"{was}; it was at {_quiet(line, batch)}"
        raise InvalidState(message, state=state, legal=list(QUIET))
    return _as_of(session, line, revision, _ran(session, batch))


def ran_before(past: Session) -> tuple[str, ...]:
    """The undecided calls of an earlier revision that may have run since, in model order."""
    return tuple(call.call_id for call in open_calls(past) if call.ran_before)


def rewound(session: Session, data: j.Rewound, record: j.Record) -> Session:
    """The session as it was; what is spent, decided and asked for besides its transcript stays."""
    session = interrupted(session)
    try:
        past = at(session, data.to)
    except InvalidState as error:
        raise IllegalRecord(f"record {record.rev}: {error.message}") from error
    dropped: dict[str, Dropped] = {queued.input_id: "rejected" for queued in session.queue}
    return replace(
        past,
        revision=session.revision,
        dropped={**session.dropped, **dropped} if dropped else session.dropped,
        lines=left(session, data, record.at),
    )


def left(session: Session, data: j.Rewound, when: Timestamp) -> tuple[Line, ...]:
    """The lines, with the present one as the last; what is open on it is closed."""

    def close(call: Call) -> Call:
        return replace(call, state="cancelled", question=None, ended_at=when, rewound=data)

    return kept(map_open_calls(session, close))


def kept(session: Session) -> tuple[Line, ...]:
    """The lines, with the present one as it is as the last."""
    return (*session.lines, _present(session))


def marked(session: Session, rev: int) -> Row[Turn]:
    """The turns after record `rev`, which is noted in the last one where it has changed what is counted."""
    turn = session.turns.last
    if turn is None:
        return session.turns
    last = turn.marks[-1] if turn.marks else _last_mark(session.turns)
    steps, tries, tokens = turn.steps, session.tries, session.context_tokens
    counted = last.steps if turn.marks else 0
    if counted == steps and last.tries == tries and last.context_tokens == tokens:
        return session.turns
    mark = Mark(rev, tries, steps, tokens)
    return session.turns.with_last(_with_marks(turn, (*turn.marks, mark)))


_with_marks: Callable[[Turn, tuple[Mark, ...]], Turn] = copier(Turn, "marks")


def _present(session: Session) -> Line:
    return Line(
        session.revision,
        session.turns,
        session.untold,
        session.compactions,
        session.stopped_rev,
        session.turns_before,
        session.user_id,
        session.context,
    )


def _batch_at(line: Line, revision: int) -> AnswerEntry | None:
    """The batch of calls that was open at `revision`."""
    turn = _begun(line, revision).last
    if turn is None or _by(turn.ended_rev, revision):
        return None
    answers = (entry for entry in reversed(turn.entries) if isinstance(entry, AnswerEntry))
    last = next((answer for answer in answers if answer.revision <= revision), None)
    return last if last is not None and last.calls and not _by(last.committed_rev, revision) else None


def _begun(line: Line, revision: int) -> Row[Turn]:
    """The turns that had begun by then."""
    return line.turns.first(bisect_right(line.turns, revision, key=lambda turn: turn.began_rev))


def _loud_state(line: Line, batch: AnswerEntry | None, revision: int) -> State | None:
    if _by(line.stopped_rev, revision):
        return "stopped"
    return "partialUserTurn" if batch is not None and _by(batch.dispatched_rev, revision) else None


def _quiet(line: Line, batch: AnswerEntry | None) -> str:
    """The nearest revisions at which it was quiet, in words: around a batch, else before a stop."""
    if batch is None:
        return f"revision {(line.stopped_rev or line.revision) - 1}"
    again = batch.committed_rev if _by(batch.committed_rev, line.revision) else None
    return f"revision {batch.revision}" + (f", and again at {again}" if again is not None else "")


def _ran(session: Session, batch: AnswerEntry | None) -> frozenset[str]:
    """The calls of a batch that have started, or may have, on any line."""
    if batch is None:
        return frozenset()
    lasts = (_begun(line, batch.revision).last for line in kept(session))
    turns = {id(turn): turn for turn in lasts if turn is not None}
    everywhere = (entry for turn in turns.values() for entry in turn.entries if entry.revision == batch.revision)
    calls = (call for entry in everywhere if isinstance(entry, AnswerEntry) for call in entry.calls)
    return frozenset(call.call_id for call in calls if call.may_have_run or call.ran_before)


def _as_of(session: Session, line: Line, revision: int, ran: frozenset[str]) -> Session:
    turns = _begun(line, revision)  # all but the last had ended by then, and nothing has changed in them since
    if turns.last is not None:
        turns = turns.with_last(_turn_as_of(turns.last, revision, ran))
    counted = _last_mark(turns)
    return replace(
        session,
        revision=revision,
        turns=turns,
        turns_before=line.turns_before,
        user_id=line.user_id,
        context=line.context,
        untold=() if turns else _notes(line, revision),
        tries=counted.tries,
        context_tokens=counted.context_tokens,
        compactions=tuple(one for one in line.compactions if one[0] <= revision),
        lines=(),
        queue=(),
        stopped_rev=None,
        last_error=None,
        asked=None,
        asked_note=None,
    )


def _turn_as_of(turn: Turn, revision: int, ran: frozenset[str]) -> Turn:
    """What did not change is the same value: lines share it."""
    entries = tuple(_entry_as_of(entry, revision, ran) for entry in turn.entries if entry.revision <= revision)
    same = len(entries) == len(turn.entries) and all(map(lambda a, b: a is b, entries, turn.entries))
    if _by(turn.ended_rev, revision):
        return turn if same else replace(turn, entries=entries)
    marks = tuple(mark for mark in turn.marks if mark.rev <= revision)
    if same and turn.end is None and len(marks) == len(turn.marks):
        return turn
    steps = marks[-1].steps if marks else 0
    open_again = replace(turn, end=None, ended_at=None, ended_rev=None, messages=(), digest="")
    return replace(open_again, entries=entries, steps=steps, marks=marks)


def _entry_as_of(entry: Entry, revision: int, ran: frozenset[str]) -> Entry:
    if not isinstance(entry, AnswerEntry) or not entry.calls or _by(entry.committed_rev, revision):
        return entry
    calls = tuple(call.undecided_again(ran_before=call.call_id in ran) for call in entry.calls)
    again = replace(entry, calls=calls, dispatched_rev=None, committed_rev=None)
    return entry if again == entry else again


def _notes(line: Line, revision: int) -> tuple[NoteEntry, ...]:
    """What stood before the first turn."""
    first = line.turns[0].entries if line.turns else line.untold
    return tuple(entry for entry in first if isinstance(entry, NoteEntry) and entry.revision <= revision)


def _last_mark(turns: Sequence[Turn]) -> Mark:
    for turn in reversed(turns):
        if turn.marks:
            return turn.marks[-1]
    return Mark(0)


def _by(rev: int | None, revision: int) -> bool:
    """Whether the record was written by then."""
    return rev is not None and rev <= revision
