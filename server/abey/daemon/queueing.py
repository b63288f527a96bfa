"""The methods for what waits in the queue, and for turns without input."""

from abey.core import events as e
from abey.core.idempotency import input_id
from abey.daemon.driving import RUNS, Driving, submit
from abey.daemon.idempotency import Done, keyed
from abey.daemon.services import Services
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.rpc.peer import Peer


class Queueing:
    def __init__(self, services: Services, driving: Driving) -> None:
        self._services = services
        self._driving = driving

    async def withdraw(self, peer: Peer, params: r.WithdrawParams) -> Done:
        return await submit(self._services, m.WITHDRAW, params, e.Withdraw(params.input_id, peer.client))

    async def go_on(self, peer: Peer, params: r.ContinueParams) -> Done:
        live = await self._services.sessions.get(params.session_id)
        key = params.idempotency_key
        event = e.Continue(RUNS[params.run], peer.client, input_id(live.id, key) if key else None)
        request = keyed(m.CONTINUE, params, waits=params.wait)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        if params.wait:
            await self._driving.ended(submitted)
        return Done(live, submitted.transition.answer)
