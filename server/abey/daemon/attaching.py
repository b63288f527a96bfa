"""`agents/attach` and `agents/detach`: from a look at a session to hearing of everything that happens to it."""

from collections.abc import Mapping

from abey.core.abridging import abridged_view
from abey.core.views import items
from abey.daemon.services import Services
from abey.daemon.subscriptions import Subscriptions
from abey.errors import InvalidArguments
from abey.protocol import attaching as a
from abey.protocol.params import Nothing
from abey.protocol.queries import AgentsEvent
from abey.rpc.dispatch import fitting
from abey.rpc.peer import Peer
from abey.runtime.live import Live

EVERYTHING = "*"
REPLAYED = 1000
ITEMS = 50


class Attaching:
    """Handlers. Between the look and the subscription nothing else runs, so that no event falls between them."""

    def __init__(self, services: Services, subscriptions: Subscriptions) -> None:
        self._services = services
        self._subscriptions = subscriptions

    async def attach(self, peer: Peer, params: a.AttachParams) -> a.AttachResult:
        if params.session_id == EVERYTHING:
            return await self._attach_to_all(peer, params)
        if isinstance(params.after, Mapping):
            raise InvalidArguments("after is a number where one session is named", errors=["after is not a number"])
        live = await self._services.sessions.get(params.session_id)
        replay = self._missed(live, params.after)
        self._subscriptions.add(peer, live.id, live.log.next_seq - 1, deltas=self._deltas(peer, params))
        snapshot = self._snapshot(live) if replay is None else None
        return a.AttachResult(snapshot=snapshot, replay=replay or (), seq=live.log.next_seq - 1)

    async def detach(self, peer: Peer, params: a.DetachParams) -> Nothing:
        if params.session_id == EVERYTHING:
            self._subscriptions.left(peer)
        else:
            self._subscriptions.remove(peer, params.session_id)
        return Nothing()

    async def _attach_to_all(self, peer: Peer, params: a.AttachParams) -> a.AttachResult:
        """The sessions that `after` names are attached to; of all there is a summary."""
        after = params.after
        if isinstance(after, int):
            raise InvalidArguments("with * after is {sessionId: seq}", errors=["after is no object"])
        lives = [await self._services.sessions.get(session_id) for session_id in after or {}]
        replay: list[AgentsEvent] = []
        for live in lives:
            missed = self._missed(live, (after or {})[live.id])
            self._subscriptions.add(peer, live.id, live.log.next_seq - 1, deltas=self._deltas(peer, params))
            replay += missed or ()
        return a.AttachResult(replay=tuple(replay), seq=0)

    def _missed(self, live: Live, after: int | None) -> tuple[AgentsEvent, ...] | None:
        """What came after that event, if all of it is still kept and fits into a reply."""
        if after is None or after >= live.log.next_seq:
            return None
        found = live.log.since(after, REPLAYED, self._services.agent_then)
        whole = found is not None and after + len(found) == live.log.next_seq - 1 and fitting(found) == len(found)
        return found if whole else None

    def _snapshot(self, live: Live) -> a.Snapshot:
        shown = [abridged_view(item) for item in list(items(self._services.now(live.machine).session))[-ITEMS:]]
        shown = shown[len(shown) - fitting(shown[::-1]) :]
        return a.Snapshot(session=self._services.show(live), items=tuple(shown))

    def _deltas(self, peer: Peer, params: a.AttachParams) -> bool:
        said = peer.capabilities.deltas if peer.capabilities else False
        return said if params.deltas is None else params.deltas
