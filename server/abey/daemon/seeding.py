"""The method that makes a session of a portable value (machine.md, Seeds)."""

import asyncio

from abey.core import events as e
from abey.core.portable import first_words
from abey.core.seed_reading import seed_of
from abey.daemon.driving import created_of, environment, folder, named_by, refuse_while_draining
from abey.daemon.idempotency import Done, keyed, new_id, refuse_made
from abey.daemon.services import Named, Services
from abey.errors import InvalidSeed, InvalidState, SessionDamaged, UnknownSession
from abey.protocol import lines as li
from abey.protocol import methods as m
from abey.protocol.seeds import Seed
from abey.rpc.faults import InvalidParams
from abey.rpc.peer import Peer
from abey.runtime.live import Live


class Seeding:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def seed(self, peer: Peer, params: li.SeedParams) -> Done:
        """A session that there is not yet, or one that is stopped and goes on as the seed says."""
        refuse_while_draining(self._services)
        seed, words = await asyncio.to_thread(_judged, params)
        cwd = folder(params.cwd, environment(self._services, peer))
        named = await self._named(peer, params, cwd)
        session_id = seed.id or await new_id(self._services, params)
        live = await self._existing(session_id)
        if live is None:
            if named is None:
                raise _nothing_to_go_on(session_id)
            title = params.title or words or named.agent.slug
            return await self._made(peer, params, seed, session_id, named, cwd, title)
        return await self._gone_on(peer, params, seed, live, None if named is None else named.agent.slug)

    async def _existing(self, session_id: str) -> Live | None:
        """None where there is none of that id yet, or only what a crash has left of making it."""
        try:
            return await self._services.sessions.get(session_id)
        except UnknownSession:
            return None
        except SessionDamaged:
            if await self._services.sessions.left_over(session_id):
                return None
            raise

    async def _named(self, peer: Peer, params: li.SeedParams, cwd: str) -> Named | None:
        """The agent that the request names; None where it names none."""
        if params.agent is None and params.agent_file is None and params.config is None:
            return None
        return await named_by(self._services, peer, params, cwd)

    async def _made(
        self, peer: Peer, params: li.SeedParams, seed: Seed, session_id: str, named: Named, cwd: str, title: str
    ) -> Done:
        await refuse_made(self._services, session_id, params.if_revision)
        env = environment(self._services, peer)
        event = e.Start(created_of(named, session_id, cwd, title, env, peer), None, None, seed)
        submitted = await self._services.scheduler.start(event, named.agent, keyed(m.SEED, params))
        return Done(submitted.live, submitted.transition.answer)

    async def _gone_on(self, peer: Peer, params: li.SeedParams, seed: Seed, live: Live, slug: str | None) -> Done:
        """It keeps its agent and its folder. Raises InvalidState where another agent is named."""
        created = live.machine.session.created
        if live.machine.session.stopped and slug not in (None, created.agent):
            message = f"session {live.id} is of agent {created.agent}, and does not go on with agent {slug}"
            raise InvalidState(message, sessionId=live.id, state="stopped")
        event, request = e.Reseed(seed, peer.client, params.title), keyed(m.SEED, params)
        submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        return Done(live, submitted.transition.answer)


def _nothing_to_go_on(session_id: str) -> InvalidParams:
    message = f"there is no session {session_id} that goes on: a new one takes one of agent, agentFile, config"
    errors = [{"loc": ["agent"], "msg": message, "type": "missing"}]
    return InvalidParams(f"invalid params for {m.SEED.name}: {message}", errors=errors)


def _judged(params: li.SeedParams) -> tuple[Seed, str]:
    """The seed of a request: in `seed`, or beside it what has no other meaning; and its first words. Long for a long
    one. Raises InvalidSeed."""
    beside = dict(params.model_extra or {})
    if params.seed is not None and beside:
        errors = [f"{name}: it stands beside the seed" for name in beside]
        raise InvalidSeed(f"the seed is not valid: {errors[0]}", errors=errors)
    seed = seed_of(beside if params.seed is None else params.seed)
    if seed.id is not None and params.session_id not in (None, seed.id):
        error = f"id: sessionId asks for {params.session_id}"
        raise InvalidSeed(f"the seed is not valid: {error}", errors=[error])
    return seed, first_words(seed)
