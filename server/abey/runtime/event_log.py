"""The numbered events of a session: the last ones in memory, the numbers from the journal (protocol.md, Events)."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from abey.core.abridging import abridged
from abey.core.agent import Agent
from abey.core.projection import Mark, marks_of, render
from abey.core.replay import apply
from abey.core.session import Session
from abey.protocol.journal import Record
from abey.protocol.queries import AgentsEvent

KEPT_RECORDS = 2048

AgentOf = Callable[[Session], Agent | None]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record and the sessions around it; they share all that did not change, so that keeping them costs little."""

    first_seq: int
    record: Record
    before: Session | None
    after: Session
    marks: tuple[Mark, ...]


@dataclass(slots=True)
class EventLog:
    """`next_seq` is the number of the event after the last; the first event of a session has number 1."""

    next_seq: int = 1
    session: Session | None = None
    _kept: deque[_Entry] = field(default_factory=lambda: deque(maxlen=KEPT_RECORDS))

    @property
    def oldest_seq(self) -> int:
        return self._kept[0].first_seq if self._kept else self.next_seq

    def add(self, records: Sequence[Record]) -> None:
        """One unit of the journal, in order."""
        for record in records:
            before = self.session
            after = apply(before, record)
            marks = marks_of(record, before, after, last=record is records[-1])
            if marks:
                self._kept.append(_Entry(self.next_seq, record, before, after, marks))
            self.next_seq += len(marks)
            self.session = after

    def since(self, after: int, limit: int, agent_of: AgentOf) -> tuple[AgentsEvent, ...] | None:
        """At most `limit` events after that number; None where they are not kept any more, or were never there.

        `agent_of` gives the version of the agent that a session used, which the journal names: not the current one.
        """
        if after >= self.next_seq or after + 1 < self.oldest_seq:
            return None
        found: list[AgentsEvent] = []
        for entry in self._entries(after):
            for index, mark in enumerate(entry.marks):
                seq = entry.first_seq + index
                if seq > after:
                    found.append(_event(entry, seq, mark, agent_of(entry.after)))
                if len(found) == limit:
                    return tuple(found)
        return tuple(found)

    def _entries(self, after: int) -> Iterable[_Entry]:
        """Those with events after that number, in order; sought from the end, where most readers are."""
        newer = takewhile(lambda entry: entry.first_seq + len(entry.marks) > after + 1, reversed(self._kept))
        return reversed(list(newer))


def _event(entry: _Entry, seq: int, mark: Mark, agent: Agent | None) -> AgentsEvent:
    turn = entry.after.turn
    return AgentsEvent(
        session_id=entry.after.id,
        seq=seq,
        revision=entry.record.rev,
        turn_id=turn.turn_id if turn else None,
        at=entry.record.at,
        event=abridged(render(mark, entry.record, entry.before, entry.after, agent)),
    )
