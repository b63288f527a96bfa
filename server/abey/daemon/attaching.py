"""`agents/attach` and `agents/detach`: from a look at a session to hearing of everything that happens to it."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from abey.core.abridging import abridged_view
from abey.core.views import newest_items
from abey.daemon.paging import fitting_views
from abey.daemon.services import Services
from abey.daemon.subscriptions import Subscriptions
from abey.daemon.summaries import Summaries
from abey.errors import AbeyError, InvalidArguments
from abey.protocol import attaching as a
from abey.protocol.base import Wire
from abey.protocol.params import Nothing
from abey.protocol.queries import AgentsEvent
from abey.protocol.session import Session
from abey.protocol.transcript import Item
from abey.rpc.dispatch import PAGE_BYTES, fitting
from abey.rpc.messages import encode
from abey.rpc.peer import Peer
from abey.runtime.live import Live

EVERYTHING = "*"
REPLAYED = 1000
AT_A_TIME = 64
ITEMS = 50
SUMMARIES = 1000
SUMMARY_BYTES = PAGE_BYTES // 3
"""Of a reply, for the summaries; the rest of a page is for the sessions and what was missed of them."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is told of a session, and what was missed up to there; `live` where it is attached to."""

    told: a.Attached
    replay: tuple[AgentsEvent, ...] = ()
    live: Live | None = None

    @property
    def seq(self) -> int:
        """The last event that it covers."""
        return self.told.seq or 0


@dataclass(slots=True)
class _Room:
    """What still fits into a reply."""

    events: int = REPLAYED
    bytes: int = PAGE_BYTES

    def take(self, shown: Sequence[Wire], *, events: int = 0) -> bool:
        """Whether these fit, of which so many are events; then there is less room."""
        size = sum(len(encode(one)) for one in shown)
        if size > self.bytes or events > self.events:
            return False
        self.bytes, self.events = self.bytes - size, self.events - events
        return True


class Attaching:
    """Handlers. Between the look and the subscription nothing else runs, so that no event falls between them."""

    def __init__(self, services: Services, subscriptions: Subscriptions, summaries: Summaries) -> None:
        self._services = services
        self._subscriptions = subscriptions
        self._summaries = summaries

    async def attach(self, peer: Peer, params: a.AttachParams) -> a.AttachResult:
        if params.session_id == EVERYTHING:
            return await self._attach_to_all(peer, params)
        if isinstance(params.after, Mapping):
            raise InvalidArguments("after is a number where one session is named", errors=["after is not a number"])
        await self._services.look(params.session_id)
        live = await self._services.sessions.get(params.session_id)
        if params.after is not None:
            look = await self._look(live.id, params.after, _Room())
            if look.live is not None:
                self._subscriptions.add(peer, live.id, look.seq, deltas=_deltas(peer, params), held=look.live)
                return a.AttachResult(session=look.told.session, replay=look.replay, seq=look.seq)
            live = await self._services.sessions.get(live.id)
        session, seq = self._shown(live), live.log.next_seq - 1
        self._subscriptions.add(peer, live.id, seq, deltas=_deltas(peer, params), held=live)
        return a.AttachResult(snapshot=a.Snapshot(session=session, items=self._items(live, session)), seq=seq)

    async def detach(self, peer: Peer, params: a.DetachParams) -> Nothing:
        if params.session_id == EVERYTHING:
            self._subscriptions.left(peer)
        else:
            self._subscriptions.remove(peer, params.session_id)
        return Nothing()

    async def _attach_to_all(self, peer: Peer, params: a.AttachParams) -> a.AttachResult:
        """The sessions that `after` names are attached to; of all there are summaries, as they are then."""
        after = {} if params.after is None else params.after
        if isinstance(after, int):
            raise InvalidArguments("with * after is {sessionId: seq}", errors=["after is no object"])
        read = await self._summaries.read(SUMMARIES)
        room = _Room(bytes=PAGE_BYTES - SUMMARY_BYTES)
        looks = [await self._look(*one, room) for one in after.items()]
        # from here on nothing else runs until the reply is on its way
        looks = [self._renewed(look, room) for look in looks]
        for look in looks:
            if look.live is not None:
                self._subscriptions.add(peer, look.live.id, look.seq, deltas=_deltas(peer, params), held=look.live)
        summaries, more = read.summaries()
        shown = summaries[: fitting(summaries, SUMMARY_BYTES)]
        return a.AttachResult(
            replay=tuple(event for look in looks for event in look.replay),
            seq=0,
            sessions=tuple(look.told for look in looks),
            summaries=shown,
            has_more=more or len(shown) < len(summaries),
        )

    async def _look(self, session_id: str, after: int, room: _Room) -> _Look:
        """What was missed of a session, and the session as it is when this returns."""
        with suppress(AbeyError):  # what became of it is told
            await self._services.look(session_id)
        entry = self._services.sessions.peek(session_id)
        if not isinstance(entry, Live):
            return _Look(a.Attached(session_id=session_id, status="damaged" if entry else "unknown"))
        await self._services.sessions.recall(entry, after)
        missed: list[AgentsEvent] = []
        while (seq := after + len(missed)) != entry.log.next_seq - 1:
            await asyncio.sleep(0)  # nobody else waits for all of them
            some = self._some(entry, seq, room)
            if some is None:
                return _Look(a.Attached(session_id=session_id, status="expired"))
            missed += some
        return self._looked(entry, tuple(missed), room)

    def _some(self, live: Live, after: int, room: _Room) -> tuple[AgentsEvent, ...] | None:
        """The next events, None where they are not kept, never were, or do not fit."""
        found = live.log.since(after, AT_A_TIME, self._services.agent_then)
        return found if found is not None and room.take(found, events=len(found)) else None

    def _looked(self, live: Live, missed: tuple[AgentsEvent, ...], room: _Room) -> _Look:
        session, seq = self._shown(live), live.log.next_seq - 1
        if self._services.sessions.peek(live.id) is not live or not room.take([session]):
            return _Look(a.Attached(session_id=live.id, status="expired"))
        return _Look(a.Attached(session_id=live.id, status="ok", seq=seq, session=session), missed, live)

    def _renewed(self, look: _Look, room: _Room) -> _Look:
        """The same as of now: while others were looked at, the session may have moved on, gone, or been loaded anew."""
        if look.live is None:
            return look
        entry = self._services.sessions.peek(look.live.id)
        if entry is not look.live:
            return _Look(a.Attached(session_id=look.live.id, status="expired" if entry else "unknown"))
        if look.seq == entry.log.next_seq - 1:
            return look
        more = self._some(entry, look.seq, room)
        if more is None or look.seq + len(more) != entry.log.next_seq - 1:
            return _Look(a.Attached(session_id=entry.id, status="expired"))
        return self._looked(entry, look.replay + more, room)

    def _items(self, live: Live, session: Session) -> tuple[Item, ...]:
        newest = islice(newest_items(self._services.now(live.machine).session), ITEMS)
        return fitting_views(newest, PAGE_BYTES - len(encode(session)))[::-1]

    def _shown(self, live: Live) -> Session:
        return abridged_view(self._services.show(live))


def _deltas(peer: Peer, params: a.AttachParams) -> bool:
    said = peer.capabilities.deltas if peer.capabilities else False
    return said if params.deltas is None else params.deltas
