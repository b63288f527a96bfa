"""A session with its open turn, its last answer or its open calls exchanged: what the fold is made of."""

from collections.abc import Callable
from operator import is_

from abey.core.call import Call
from abey.core.rows import Row
from abey.core.session import AnswerEntry, Entry, Session, Turn
from abey.shared.values import copier, replace


class IllegalRecord(Exception):
    """A record that cannot follow the ones before it: the journal, or the code that wrote it, is wrong."""


def with_turn(session: Session, change: Callable[[Turn], Turn]) -> Session:
    return exchanged(session, turns_with(session, change))


exchanged: Callable[[Session, Row[Turn]], Session] = copier(Session, "turns")
"""The session with other turns."""


def turns_with(session: Session, change: Callable[[Turn], Turn]) -> Row[Turn]:
    """The turns, the open one exchanged."""
    turn = session.open_turn
    if turn is None:
        raise IllegalRecord(f"no turn is open at revision {session.revision}")
    return session.turns.with_last(change(turn))


_with_entries: Callable[[Turn, tuple[Entry, ...]], Turn] = copier(Turn, "entries")


def entries_with(turn: Turn, entry: Entry, other: Entry) -> tuple[Entry, ...]:
    """Its entries, one of them exchanged."""
    return tuple([other if one is entry else one for one in turn.entries])


def with_answer(session: Session, change: Callable[[AnswerEntry], AnswerEntry]) -> Session:
    answer = session.last_answer
    if answer is None or answer.committed or not answer.settled:
        raise IllegalRecord(f"no finished batch of calls at revision {session.revision}")
    changed = change(answer)
    return with_turn(session, lambda turn: _with_entries(turn, entries_with(turn, answer, changed)))


def with_batch(session: Session, change: Callable[[AnswerEntry], AnswerEntry]) -> Session:
    batch = session.batch
    if batch is None:
        return session
    changed = change(batch)
    return with_turn(session, lambda turn: _with_entries(turn, entries_with(turn, batch, changed)))


def map_calls(session: Session, change: Callable[[Call], Call]) -> Session:
    """The very same session where nothing changes."""
    before = session.batch.calls if session.batch is not None else ()
    after = tuple(map(change, before))
    same = all(map(is_, before, after))
    return session if same else with_batch(session, lambda batch: replace(batch, calls=after))


def map_open_calls(session: Session, change: Callable[[Call], Call]) -> Session:
    return map_calls(session, lambda call: call if call.final else change(call))
