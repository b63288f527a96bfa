"""The method that answers a call which waits for somebody."""

import asyncio

from abey.core import events as e
from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.finding import find_call
from abey.core.session import Session, open_calls
from abey.core.views import resolution_view
from abey.core.waiting import issued_tokens
from abey.daemon.idempotency import Done, Outcome, keyed
from abey.daemon.services import Services
from abey.errors import AbeyError
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.rpc.peer import Peer
from abey.runtime.applying import Applying
from abey.runtime.live import Live


class Completing:
    """A handler. Who waits for the call that was let run only waits: it runs on without them."""

    def __init__(self, services: Services, applying: Applying) -> None:
        self._services = services
        self._applying = applying

    async def complete(self, peer: Peer, params: r.CompleteParams) -> Done:
        live, token = await self._services.sessions.of_token(params.token)
        event = e.Complete(token, params.outcome, params.arguments_hash, peer.client, params.resume, params.rule)
        request = keyed(m.COMPLETE, params, waits=params.wait)
        # looked for before: afterwards a thread writes, and a look at a file waits until it lets the interpreter go
        due = params.rule is not None or self._applying.due
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        if due:
            await self._applying.apply()
        answer = submitted.transition.answer
        if answer["applied"] and params.wait:
            finished = _finished(live, _call_of(live, token))
            if submitted.run is not None:  # which ends after the call, as a rule: one wait instead of two
                await submitted.run
            if finished is not None:
                await asyncio.shield(finished)
        return Done(live, answer)

    def completed(self, params: r.CompleteParams, live: Live, outcome: Outcome) -> r.CompleteResult:
        """An interrupted request was waiting for what its answer had begun."""
        call = _call_of(live, params.token)
        return r.CompleteResult(
            applied=outcome.get("applied", True),
            resolution=resolution_view(call),
            turn_complete=not open_calls(live.machine.session),
            session=self._services.show(live),
        )


def _call_of(live: Live, token: str) -> Call:
    """The call with this token, or with the one that begins so."""
    session = live.machine.session
    found = find_call(session, token) or find_call(session, _whole(session, token))
    if found is None:
        raise AbeyError(f"token {token} is gone")
    return found[1]


def _whole(session: Session, beginning: str) -> str:
    return next((one for one in issued_tokens(session) if one.startswith(beginning)), "")


def _finished(live: Live, call: Call) -> "asyncio.Future[None] | None":
    """What ends once a call that was started by an answer has ended, or waits for somebody again."""
    return live.calls.get(call.call_id) if pending_kind(call) is None else None
