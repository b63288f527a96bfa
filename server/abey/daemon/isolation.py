"""The method that tries again what waits for a sandbox."""

import asyncio

from abey.core import events as e
from abey.daemon.idempotency import Done, Outcome, keyed
from abey.daemon.services import Services
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.rpc.peer import Peer
from abey.runtime.live import Live


class Isolating:
    """A handler. Who waits for what runs only waits: it runs on without them."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def run(self, peer: Peer, params: r.RunIsolatedParams) -> Done:
        live, token = await self._named(params)
        event, request = e.Isolate(token, peer.client), keyed(m.RUN_ISOLATED, params)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        answer = submitted.transition.answer
        running = [live.calls[call_id] for call_id in answer["ran"] if call_id in live.calls]
        await asyncio.gather(*(asyncio.shield(one) for one in running))
        return Done(live, answer)

    def ran(self, _: r.RunIsolatedParams, live: Live, outcome: Outcome) -> r.RunIsolatedResult:
        return r.RunIsolatedResult(ran=tuple(outcome.get("ran", ())), session=self._services.show(live))

    async def _named(self, params: r.RunIsolatedParams) -> tuple[Live, str | None]:
        if params.token is not None:
            return await self._services.sessions.of_token(params.token)
        return await self._services.sessions.get(params.session_id or ""), None
