"""The numbered events of a session: the last ones in memory, the numbers from the journal (protocol.md, Events)."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import takewhile

from abey.core.abridging import abridged
from abey.core.agent import Agent
from abey.core.projection import Mark, marks_of, render
from abey.core.replay import after_each
from abey.core.session import Session
from abey.protocol.journal import Record
from abey.protocol.queries import AgentsEvent
from abey.shared.values import dataclass

KEPT_RECORDS = 2048

AgentOf = Callable[[Session], Agent | None]


@dataclass(frozen=True, slots=True)
class Logged:
    """A record and the sessions around it; they share all that did not change, so that keeping them costs little."""

    first_seq: int
    record: Record
    before: Session | None
    after: Session
    marks: tuple[Mark, ...]

    @property
    def next_seq(self) -> int:
        return self.first_seq + len(self.marks)


@dataclass(slots=True)
class EventLog:
    """`next_seq` is the number of the event after the last; the first event of a session has number 1."""

    next_seq: int = 1
    session: Session | None = None
    _kept: deque[Logged] = field(default_factory=lambda: deque(maxlen=KEPT_RECORDS))

    @property
    def oldest_seq(self) -> int:
        return self._kept[0].first_seq if self._kept else self.next_seq

    def add(self, records: Sequence[Record]) -> None:
        """One unit of the journal, in order."""
        self.take(self.ahead(records, tuple(after_each(self.session, records))))

    def ahead(self, records: Sequence[Record], sessions: Sequence[Session]) -> Sequence[Logged]:
        """What the next unit will be here, with the session after each of its records; nothing is changed yet."""
        logged: list[Logged] = []
        before, seq = self.session, self.next_seq
        last = records[-1] if records else None
        for record, after in zip(records, sessions, strict=True):
            marks = marks_of(record, before, after, last=record is last)
            logged.append(Logged(seq, record, before, after, marks))
            before, seq = after, seq + len(marks)
        return logged

    def take(self, logged: Sequence[Logged]) -> None:
        """The next unit, as `ahead` gave it."""
        self._kept.extend([one for one in logged if one.marks])
        if logged:
            self.session, self.next_seq = logged[-1].after, logged[-1].next_seq

    def lacks(self, after: int) -> bool:
        """Whether events after that number are told of by records that were never added here, but would be kept."""
        return after + 1 < self.oldest_seq and len(self._kept) < KEPT_RECORDS

    def recall(self, whole: "EventLog") -> None:
        """Keeps, as far as there is room, what a log of the whole journal has before the oldest event here."""
        older = [one for one in whole._kept if one.next_seq <= self.oldest_seq]
        room = KEPT_RECORDS - len(self._kept)
        self._kept.extendleft(older[: -room - 1 : -1])

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

    def _entries(self, after: int) -> Iterable[Logged]:
        """Those with events after that number, in order; sought from the end, where most readers are."""
        newer = takewhile(lambda entry: entry.next_seq > after + 1, reversed(self._kept))
        return reversed(list(newer))


def _event(entry: Logged, seq: int, mark: Mark, agent: Agent | None) -> AgentsEvent:
    return AgentsEvent(
        session_id=entry.after.id,
        seq=seq,
        revision=entry.record.rev,
        turn_id=_turn_of(entry, mark),
        at=entry.record.at,
        event=abridged(render(mark, entry.record, entry.before, entry.after, agent)),
    )


def _turn_of(entry: Logged, mark: Mark) -> str | None:
    """The turn that an event belongs to. Nothing belongs to one that has ended, nor does what waited in the queue."""
    turn = entry.after.open_turn
    of_session = mark.type == "session/updated" or mark.input_id
    if turn is None and entry.before is not None and not of_session:
        turn = entry.before.open_turn  # which ends with this
    return turn.turn_id if turn is not None else None
