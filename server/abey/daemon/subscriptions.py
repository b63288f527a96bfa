"""Who is attached to which session, and what each of them has been told (protocol.md, Notifications).

Laws
- A client that is attached gets every durable event once and in order, from the reply to `agents/attach` on.
- It has heard of everything that an answer shows before it gets the answer.
- What is live only (deltas, notices) has no number, comes after the events before it, and is dropped wherever nobody
  listens.
- One that does not read is detached, and told so; nobody else waits for it.
- What happens to a session costs nothing for those who are not attached to it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from abey.protocol.notifications import EVENT, OVERFLOW, Overflow
from abey.protocol.queries import AgentsEvent
from abey.rpc.peer import Peer, notification
from abey.runtime.event_log import AgentOf, EventLog

log = logging.getLogger(__name__)

UNREAD_BYTES = 4 << 20
"""A client with more than this to read is detached; at twice as much its connection is cut."""
AT_A_TIME = 256

LogOf = Callable[[str], EventLog | None]

Told = tuple[tuple[int, bytes], ...]
"""Events ready to be sent, with their numbers."""
Rendered = dict[int, Told | None]
"""What comes next after an event, as others were just told it; None where it is not to be had."""


@dataclass(slots=True, eq=False)
class Subscription:
    """`seq` is the last event that `peer` was told of; `held` stays in memory for as long as it is attached."""

    peer: Peer
    seq: int
    deltas: bool
    held: object


class Subscriptions:
    """Of all clients, by session."""

    def __init__(self, log_of: LogOf, agent_of: AgentOf) -> None:
        self._log_of = log_of
        self._agent_of = agent_of
        self._by_session: dict[str, dict[str, Subscription]] = {}
        self._by_peer: dict[str, set[str]] = {}
        self._due: dict[str, Rendered] = {}

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, self._by_session.values()))

    def add(self, peer: Peer, session_id: str, seq: int, *, deltas: bool, held: object = None) -> None:
        """From now on `peer` hears of what comes after event `seq`; an earlier subscription of it ends."""
        self._by_session.setdefault(session_id, {})[peer.id] = Subscription(peer, seq, deltas, held)
        self._by_peer.setdefault(peer.id, set()).add(session_id)

    def remove(self, peer: Peer, session_id: str) -> None:
        _take_out(self._by_session, session_id, lambda peers: peers.pop(peer.id, None))
        _take_out(self._by_peer, peer.id, lambda sessions: sessions.discard(session_id))

    def left(self, peer: Peer) -> None:
        for session_id in tuple(self._by_peer.get(peer.id, ())):
            self.remove(peer, session_id)

    def gone(self, session_id: str) -> None:
        """The session was deleted: nothing comes any more."""
        for one in self._of(session_id):
            self.remove(one.peer, session_id)

    def reloaded(self, session_id: str) -> None:
        """The session was read anew, perhaps mended: what was told of it need not hold any more."""
        for one in self._of(session_id):
            self._cut(session_id, one, resume_after=0)

    def advanced(self, session_id: str) -> None:
        """The session has new events. They go out in a moment, those of one session after those of another."""
        if session_id not in self._by_session:
            return
        if not self._due:
            asyncio.get_running_loop().call_soon(self._tell_next)
        self._due[session_id] = {}

    def settle(self, peer: Peer) -> None:
        """Tells `peer` what has happened by now to the sessions that it is attached to."""
        attached = self._by_peer.get(peer.id, ())
        for session_id in [one for one in self._due if one in attached]:
            self._catch_up(session_id, self._by_session[session_id][peer.id])

    def live(self, session_id: str, event: Mapping[str, Any], *, delta: bool = False) -> None:
        """An event without a number, to whoever is there; a delta to those who asked for deltas."""
        wanted = [one for one in self._of(session_id) if one.deltas or not delta]
        numbered = self._log_of(session_id) if wanted else None
        if numbered is None or numbered.session is None:
            return
        session, turn = numbered.session, numbered.session.open_turn
        told = AgentsEvent(
            session_id=session_id,
            revision=session.revision,
            turn_id=turn.turn_id if turn else None,
            at=session.updated_at,
            event=dict(event),
        )
        body = notification(EVENT, told)
        for one in wanted:
            if self._catch_up(session_id, one):
                one.peer.send(body)

    def _of(self, session_id: str) -> tuple[Subscription, ...]:
        return tuple(self._by_session.get(session_id, {}).values())

    def _tell_next(self) -> None:
        """One session at a time, and only so many events of it: nobody's request waits for all of them."""
        session_id = next(iter(self._due))
        rendered = self._due.pop(session_id)
        if self._due:
            asyncio.get_running_loop().call_soon(self._tell_next)
        more = [self._tell(session_id, one, rendered) for one in self._of(session_id)]
        if any(more):
            self.advanced(session_id)

    def _catch_up(self, session_id: str, one: Subscription) -> bool:
        """Tells one client all there is; False where it does not read, and was detached."""
        rendered = self._due.get(session_id, {})
        while self._tell(session_id, one, rendered):
            pass
        return self._by_session.get(session_id, {}).get(one.peer.id) is one

    def _tell(self, session_id: str, one: Subscription, rendered: Rendered) -> bool:
        """Sends the next events; whether there may be more."""
        if one.peer.unread() > UNREAD_BYTES:
            self._cut(session_id, one, one.seq)
            return False
        if one.seq not in rendered:
            rendered[one.seq] = self._render(session_id, one.seq)
        told = rendered[one.seq]
        if told is None:
            self._cut(session_id, one, one.seq)
            return False
        for seq, body in told:
            one.peer.send(body)
            one.seq = seq
        return len(told) == AT_A_TIME

    def _render(self, session_id: str, after: int) -> Told | None:
        """The next events, None where they are not to be had."""
        numbered = self._log_of(session_id)
        try:
            events = numbered.since(after, AT_A_TIME, self._agent_of) if numbered else None
        except Exception:  # an answer waits for this, and every request is answered
            log.exception("session %s: its events after %d cannot be told", session_id, after)
            events = None
        if events is None:
            return None
        return tuple((event.seq or after, notification(EVENT, event)) for event in events)

    def _cut(self, session_id: str, one: Subscription, resume_after: int) -> None:
        self.remove(one.peer, session_id)
        one.peer.notify(OVERFLOW, Overflow(session_id=session_id, resume_after=resume_after))


def _take_out(table: dict[str, Any], key: str, take: Callable[[Any], object]) -> None:
    """Takes something out of one of the collections of a table, and the collection, once it is empty, too."""
    if key in table:
        take(table[key])
        if not table[key]:
            del table[key]
