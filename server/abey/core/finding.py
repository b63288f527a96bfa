"""What is found in a session, on all its lines: on those that were left, too."""

from collections.abc import Iterator
from functools import reduce

from abey.core.call import Call
from abey.core.rows import Fold, Names
from abey.core.session import AnswerEntry, InputEntry, Session, Turn


def find_call(session: Session, token: str) -> tuple[Turn, Call] | None:
    """The call with this token and its turn; as it is now where the session has it, else as it was left."""
    for turn in turns_of_all_lines(session):
        for entry in reversed(turn.entries):
            for call in reversed(entry.calls) if isinstance(entry, AnswerEntry) else ():
                if call.verdict is not None and call.verdict.token == token:
                    return turn, call
    return None


def turns_of_all_lines(session: Session) -> Iterator[Turn]:
    """The turns, newest first, then those of the lines that were left; one that lines share comes once."""
    if not session.lines:
        yield from reversed(session.turns)
        return
    seen = set[int]()
    for turns in (session.turns, *(line.turns for line in reversed(session.lines))):
        for turn in reversed(turns):
            if id(turn) not in seen:
                seen.add(id(turn))
                yield turn


def holds_input(turn: Turn, input_id: str) -> bool:
    """Whether this input is in the turn, or has begun it without a word."""
    return input_id in inputs_of(turn)


def inputs_of(turn: Turn) -> list[str]:
    """The inputs of a turn, and what has begun it without a word."""
    begun = [turn.continues] if turn.continues is not None else []
    return [*begun, *(entry.input_id for entry in turn.entries if isinstance(entry, InputEntry))]


def input_goes_on(session: Session, input_id: str) -> bool:
    """Whether this input waits, or its turn is open."""
    turn = session.open_turn
    queued = any(one.input_id == input_id for one in session.queue)
    return queued or (turn is not None and holds_input(turn, input_id))


def calls_of(turn: Turn) -> tuple[Call, ...]:
    """Every call of a turn, oldest first."""
    return tuple([call for entry in turn.entries if isinstance(entry, AnswerEntry) for call in entry.calls])


def _with_calls(ids: Names, turn: Turn) -> Names:
    return reduce(Names.with_name, (call.call_id for call in calls_of(turn)), ids)


def _with_inputs(ids: Names, turn: Turn) -> Names:
    return reduce(Names.with_name, inputs_of(turn), ids)


CALL_IDS = Fold(Names(), _with_calls)
INPUT_IDS = Fold(Names(), _with_inputs)
"""Of all turns of a line, those that began without a word included."""
