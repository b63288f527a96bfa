"""A session with its open turn, its last answer or its open calls exchanged: what the fold is made of."""

from collections.abc import Callable

from abey.core.call import Call
from abey.core.session import AnswerEntry, Session, Turn
from abey.core.values import replace


class IllegalRecord(Exception):
    """A record that cannot follow the ones before it: the journal, or the code that wrote it, is wrong."""


def with_turn(session: Session, change: Callable[[Turn], Turn]) -> Session:
    turn = session.open_turn
    if turn is None:
        raise IllegalRecord(f"no turn is open at revision {session.revision}")
    return replace(session, turns=(*session.turns[:-1], change(turn)))


def with_answer(session: Session, change: Callable[[AnswerEntry], AnswerEntry]) -> Session:
    answer = session.last_answer
    if answer is None or answer.committed or not answer.settled:
        raise IllegalRecord(f"no finished batch of calls at revision {session.revision}")
    changed = change(answer)

    def swap(turn: Turn) -> Turn:
        return replace(turn, entries=tuple(changed if entry is answer else entry for entry in turn.entries))

    return with_turn(session, swap)


def with_batch(session: Session, change: Callable[[AnswerEntry], AnswerEntry]) -> Session:
    batch = session.batch
    if batch is None:
        return session
    changed = change(batch)

    def swap(turn: Turn) -> Turn:
        return replace(turn, entries=tuple(changed if entry is batch else entry for entry in turn.entries))

    return with_turn(session, swap)


def map_calls(session: Session, change: Callable[[Call], Call]) -> Session:
    return with_batch(session, lambda batch: replace(batch, calls=tuple(change(call) for call in batch.calls)))


def map_open_calls(session: Session, change: Callable[[Call], Call]) -> Session:
    return map_calls(session, lambda call: call if call.final else change(call))
