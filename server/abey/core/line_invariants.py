"""What is true of a journal however often its session went back: the checks behind `core/invariants.py`."""

from collections.abc import Mapping, Sequence

from abey.core.call import Call
from abey.core.finding import calls_of, turns_of_all_lines
from abey.core.lines import at
from abey.core.replay import apply
from abey.core.session import AnswerEntry, Entry, NoteEntry, Session, Turn
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol.session import Usage
from abey.shared.values import replace


def lines_stay(before: Session, after: Session) -> bool:
    """Whether the lines that were left are still there, as they were."""
    return after.lines[: len(before.lines)] == before.lines


def final_calls_stay(before: Session, after: Session) -> bool:
    """Whether each final call of `before` stands unchanged on some line of `after`."""
    later = {(call.call_id, call.state): call for call in reversed(_all_calls(after))}
    final = (call for turn in before.turns for call in calls_of(turn) if call.final)
    return all(later.get((call.call_id, call.state)) == call or call in _all_calls(after) for call in final)


def tokens_unique(session: Session) -> bool:
    """Whether no two calls have one token; lines share what did not change."""
    owners: dict[str, Call] = {}
    decided = (call for call in _all_calls(session) if call.verdict is not None)
    return all(owners.setdefault(call.verdict.token, call) == call for call in decided if call.verdict is not None)


def started_twice(records: Sequence[j.Record]) -> bool:
    """Whether a call-started follows another of the same call without a choice in between, or idempotence; across a
    rewind idempotence does not count. A call is known by the answer that asked for it, too."""
    owner: Mapping[str, str] = {}
    owners: dict[int, Mapping[str, str]] = {}
    started, held, idempotent = set[tuple[str, str]](), set[tuple[str, str]](), set[tuple[str, str]]()
    for record in records:
        call_id = getattr(record.data, "call_id", "")
        call = (owner.get(call_id, owner.get("", "")), call_id)
        match record.data:
            case j.Candidate(step_id=step_id, calls=calls):
                owner = {**owner, **{one.call_id: step_id for one in calls}}
            case j.Seeded():
                owner = {"": f"seed {record.rev}"}
            case j.Rewound(to=to):
                owner = owners[to]
                held |= started
            case j.CallDecided(idempotent=True):
                idempotent.add(call)
            case j.CallResolved(outcome=outcome) if outcome.kind == "rerun" or (
                outcome.kind == "approve" and call in held
            ):
                started.discard(call)
                held.discard(call)
            case j.CallStarted():
                if call in held or call in started - idempotent:
                    return True
                started.add(call)
            case _:
                pass
        owners[record.rev] = owner
    return False


def reached_again(session: Session, records: Sequence[j.Record]) -> bool:
    """Whether the session can go back to every revision at which it was quiet, and to no other; `records` tell it."""
    past: Session | None = None
    for record in records:
        past = apply(past, record)
        try:
            found = at(session, record.rev)
        except InvalidState:
            if _is_quiet(past):
                return False
        else:
            if not _is_quiet(past) or _restored(found) != _restored(past):
                return False
    return True


def _all_calls(session: Session) -> list[Call]:
    return [call for turn in turns_of_all_lines(session) for call in calls_of(turn)]


def _is_quiet(session: Session) -> bool:
    batch = session.batch
    return not session.stopped and (batch is None or batch.dispatched_rev is None)


def _restored(session: Session) -> tuple[object, ...]:
    """What a rewind restores; what is known by now of undecided calls, and of requests without an answer, is more, and
    so is what a turn has used."""
    turns = tuple(map(_bare, session.turns))
    counted = session.tries, session.context_tokens, session.turns_before
    return turns, session.untold, session.compactions, counted, session.user_id, session.context


def _bare(turn: Turn) -> Turn:
    entries = tuple(_certain(entry) for entry in turn.entries if not _interrupted(entry))
    return replace(turn, entries=entries, usage=Usage())


def _certain(entry: Entry) -> Entry:
    if not isinstance(entry, AnswerEntry) or entry.committed:
        return entry
    calls = tuple(call.undecided_again(ran_before=False) if call.undecided else call for call in entry.calls)
    return replace(entry, calls=calls)


def _interrupted(entry: Entry) -> bool:
    return isinstance(entry, NoteEntry) and entry.text == "model call interrupted"
