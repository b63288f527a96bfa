"""Who is attached to which session, and what each of them has been told (protocol.md, Notifications).

Laws
- A client that is attached gets every durable event once and in order, from the reply to `agents/attach` on.
- What is live only (deltas, notices) has no number, and is dropped wherever nobody listens.
- One that does not read is detached, and told so; nobody else waits for it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from abey.protocol.notifications import EVENT, OVERFLOW, Overflow
from abey.protocol.queries import AgentsEvent
from abey.rpc.peer import Peer
from abey.runtime.event_log import AgentOf, EventLog

UNREAD_BYTES = 4 << 20
"""A client with more than this to read is detached; at twice as much its connection is cut."""
AT_A_TIME = 256

LogOf = Callable[[str], EventLog | None]


@dataclass(slots=True, eq=False)
class Subscription:
    """`seq` is the last event that `peer` was told of."""

    peer: Peer
    seq: int
    deltas: bool


class Subscriptions:
    """Of all clients, by session."""

    def __init__(self, log_of: LogOf, agent_of: AgentOf) -> None:
        self._log_of = log_of
        self._agent_of = agent_of
        self._by_session: dict[str, dict[str, Subscription]] = {}
        self._due: set[str] = set()

    def add(self, peer: Peer, session_id: str, seq: int, *, deltas: bool) -> None:
        """From now on `peer` hears of what comes after event `seq`; an earlier subscription of it ends."""
        self._by_session.setdefault(session_id, {})[peer.id] = Subscription(peer, seq, deltas)

    def remove(self, peer: Peer, session_id: str) -> None:
        self._by_session.get(session_id, {}).pop(peer.id, None)

    def left(self, peer: Peer) -> None:
        for session_id in list(self._by_session):
            self.remove(peer, session_id)

    def gone(self, session_id: str) -> None:
        """The session was deleted: nothing comes any more."""
        self._by_session.pop(session_id, None)

    def advanced(self, session_id: str) -> None:
        """The session has new events. They go out a moment later: after the reply of a request that is done now."""
        if self._by_session.get(session_id) and session_id not in self._due:
            self._due.add(session_id)
            asyncio.get_running_loop().call_soon(self._tell, session_id)

    def live(self, session_id: str, event: Mapping[str, Any], *, delta: bool = False) -> None:
        """An event without a number, to whoever is there; a delta to those who asked for deltas."""
        wanted = [one for one in self._by_session.get(session_id, {}).values() if one.deltas or not delta]
        log = self._log_of(session_id) if wanted else None
        if log is None or log.session is None:
            return
        session, turn = log.session, log.session.turn
        told = AgentsEvent(
            session_id=session_id,
            revision=session.revision,
            turn_id=turn.turn_id if turn else None,
            at=session.updated_at,
            event=dict(event),
        ).wire()
        for one in wanted:
            if one.peer.unread() <= UNREAD_BYTES:
                one.peer.notify(EVENT, told)

    def _tell(self, session_id: str) -> None:
        self._due.discard(session_id)
        log = self._log_of(session_id)
        found: dict[int, tuple[AgentsEvent, ...] | None] = {}
        for one in list(self._by_session.get(session_id, {}).values()):
            if one.seq not in found:
                found[one.seq] = log.since(one.seq, AT_A_TIME, self._agent_of) if log else None
            events = found[one.seq]
            if events is None or one.peer.unread() > UNREAD_BYTES:
                self._overflow(session_id, one)
            else:
                self._send(session_id, one, events)

    def _send(self, session_id: str, one: Subscription, events: tuple[AgentsEvent, ...]) -> None:
        for event in events:
            one.peer.notify(EVENT, event.wire())
            one.seq = event.seq or one.seq
        if len(events) == AT_A_TIME:
            self.advanced(session_id)

    def _overflow(self, session_id: str, one: Subscription) -> None:
        self.remove(one.peer, session_id)
        one.peer.notify(OVERFLOW, Overflow(session_id=session_id, resume_after=one.seq).wire())
