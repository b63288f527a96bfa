"""The methods that move a session: start, step, run, send, and the ways to end things."""

import os
from typing import Any, TypeVar

from abey.core import events as e
from abey.core.answering import STARTED, place_in_queue, run_outcome
from abey.core.effects import EndRun
from abey.core.idempotency import Keyed, input_id
from abey.core.titles import title_of
from abey.daemon.idempotency import Done, Outcome, keyed, new_id, refuse_made
from abey.daemon.services import Named, Services, lent_by
from abey.errors import DaemonDraining, InvalidArguments
from abey.protocol import lines as li
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.protocol.journal import Created
from abey.protocol.methods import Method
from abey.protocol.session import Session
from abey.protocol.transcript import Part, TextPart
from abey.rpc.peer import Peer
from abey.runtime.live import Live
from abey.runtime.scheduler import Submitted
from abey.runtime.tools.environment import allowed_environment

E = TypeVar("E", bound=r.SessionEffect)

INTERRUPTED = "interrupted"
RUNS: dict[str, e.Run | None] = {"none": None, "step": e.STEP, "turn": e.THIS_TURN}


class Driving:
    """Handlers, and what makes an answer of what they come to. A request that waits only waits: what it started goes on
    without it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def start(self, peer: Peer, params: r.StartParams) -> Done:
        refuse_while_draining(self._services)
        parts = _parts(params.prompt, params.parts)
        env = environment(self._services, peer)
        cwd = folder(params.cwd, env)
        named = await named_by(self._services, peer, params, cwd)
        session_id = await new_id(self._services, params)
        await refuse_made(self._services, session_id, params.if_revision)
        title = params.title or title_of(parts) or named.agent.slug
        created = created_of(named, session_id, cwd, title, env, peer)
        event = e.Start(created, e.NewInput(parts) if parts else None, RUNS[params.run])
        request = keyed(m.START, params, waits=params.wait)
        with self._services.keys.driven(session_id, peer.options.env):
            submitted = await self._services.scheduler.start(event, named.agent, request)
        if params.wait:
            await self.ended(submitted)
        return Done(submitted.live, submitted.transition.answer)

    async def step(self, peer: Peer, params: r.StepParams) -> Done:
        refuse_while_draining(self._services)
        parts = _parts(params.prompt, params.parts)
        event = e.Drive(e.STEP, peer.client, e.NewInput(parts) if parts else None)
        return await self._drive(peer, params, event, keyed(m.STEP, params))

    async def run(self, peer: Peer, params: r.RunParams) -> Done:
        refuse_while_draining(self._services)
        event = e.Drive(_run(params), peer.client)
        return await self._drive(peer, params, event, keyed(m.RUN, params, waits=params.wait), wait=params.wait)

    async def resume(self, peer: Peer, params: r.RunParams) -> Done:
        refuse_while_draining(self._services)
        event = e.Drive(_run(params), peer.client, resume=True)
        return await self._drive(peer, params, event, keyed(m.RESUME, params, waits=params.wait), wait=params.wait)

    async def pause(self, peer: Peer, params: r.PauseParams) -> Done:
        return await submit(self._services, m.PAUSE, params, e.Pause(params.reason, peer.client))

    async def send(self, peer: Peer, params: r.SendParams) -> Done:
        live = await self._services.sessions.get(params.session_id)
        new = e.NewInput(_parts(params.prompt, params.parts), _own_id(params), params.delivery)
        event, request = e.Send(new, RUNS[params.run], peer.client), keyed(m.SEND, params, waits=params.wait)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        if params.wait:
            await self.ended(submitted)
        return Done(live, submitted.transition.answer)

    async def cancel(self, peer: Peer, params: r.CancelParams) -> Done:
        event = e.Cancel(params.turn_id, params.reason, peer.client)
        return await self._close(params, event, keyed(m.CANCEL, params))

    async def stop(self, peer: Peer, params: r.StopParams) -> Done:
        return await self._close(params, e.Stop(params.reason, peer.client), keyed(m.STOP, params))

    async def reopen(self, _: Peer, params: r.SessionEffect) -> r.AppliedResult:
        live, applied = await self._services.sessions.reopen(params.session_id, params.if_revision)
        return r.AppliedResult(applied=applied, session=self._services.show(live))

    def shown(self, _: r.Effect, live: Live, __: Outcome) -> Session:
        return self._services.show(live)

    def stepped(self, _: r.StepParams, live: Live, outcome: Outcome) -> r.StepResult:
        return r.StepResult(outcome=outcome.get("outcome", INTERRUPTED), session=self._services.show(live))

    def ran(self, _: r.RunParams, live: Live, outcome: Outcome) -> r.RunResult:
        """How many steps an interrupted run has made is not known."""
        return r.RunResult(
            outcome=outcome.get("outcome", INTERRUPTED),
            steps=outcome.get("steps", 0),
            session=self._services.show(live),
        )

    def sent(self, params: r.SendParams, live: Live, outcome: Outcome) -> r.SendResult:
        """An interrupted request was waiting for its run; its input is where it is now."""
        own = outcome.get("inputId") or _own_id(params) or ""  # without a key it has an outcome
        return r.SendResult(
            input_id=own,
            position=outcome.get("position", place_in_queue(live.machine.session, own)),
            session=self._services.show(live),
        )

    def closed(self, _: r.SessionEffect, live: Live, outcome: Outcome) -> r.AppliedResult:
        """Had an interrupted request been applied, its outcome would be recorded with that."""
        return r.AppliedResult(applied=outcome.get("applied", False), session=self._services.show(live))

    async def _close(self, params: r.SessionEffect, event: e.Cancel | e.Stop, request: Keyed | None) -> Done:
        live = await self._services.sessions.get(params.session_id)
        submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        while live.machine.work.closing is not None and live.failure is None:
            await live.changed.wait()
        if live.failure is not None:
            raise live.refusal()
        if live.machine.session.stopped:
            await self._services.scheduler.let_go(live)
        return Done(live, submitted.transition.answer)

    async def _drive(
        self, peer: Peer, params: r.SessionEffect, event: e.Drive, request: Keyed | None, *, wait: bool = True
    ) -> Done:
        live = await self._services.sessions.get(params.session_id)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision, request)
        end = await self.ended(submitted) if wait else None
        return Done(live, STARTED if end is None else run_outcome(end))

    async def ended(self, submitted: Submitted) -> EndRun | None:
        """How the run ended that the request waits for. A model failure carries the session that it left."""
        if submitted.run is None:
            return None
        end = await submitted.run
        if end.error is not None:
            session = self._services.show(submitted.live)
            end.error.details |= {"sessionId": session.session_id, "session": session.wire()}
            raise end.error
        return end


async def submit(services: Services, method: Method[E, Any], params: E, event: e.Event) -> Done:
    """What one event came to that nobody waits for. Raises as `Scheduler.submit`, and UnknownSession."""
    live = await services.sessions.get(params.session_id)
    submitted = await services.scheduler.submit(live, event, params.if_revision, keyed(method, params))
    return Done(live, submitted.transition.answer)


async def named_by(services: Services, peer: Peer, params: r.StartParams | li.SeedParams, cwd: str) -> Named:
    """The agent that a request for a new session names. Raises UnknownAgent, InvalidAgent."""
    return await services.registry.aside.run(
        services.agent_named, params.agent, params.agent_file, params.config, cwd, lent_by(peer)
    )


def created_of(named: Named, session_id: str, cwd: str, title: str, env: dict[str, str], peer: Peer) -> Created:
    """The first record of a session that a client makes; `env` is all that this has."""
    return Created(
        session_id=session_id,
        agent=named.agent.slug,
        agent_file=named.path,
        workspace=named.workspace,
        config=named.agent.config,
        config_hash=named.agent.config_hash,
        cwd=cwd,
        title=title,
        env=allowed_environment(env),
        client=peer.client,
    )


def environment(services: Services, peer: Peer) -> dict[str, str]:
    """The variables that the client has, or else the daemon."""
    return dict(peer.options.env if peer.options.env is not None else services.settings.env)


def refuse_while_draining(services: Services) -> None:
    if services.scheduler.draining:
        raise DaemonDraining("the daemon is about to end and takes no new steps; try again in a moment")


def _own_id(params: r.SendParams) -> str | None:
    """The client's own for its input, or that of the key; else it gets one of ours, which nobody need look for."""
    if params.input_id is not None or params.idempotency_key is None:
        return params.input_id
    return input_id(params.session_id, params.idempotency_key)


def _run(params: r.RunParams) -> e.Run:
    turn = params.until == "turn"
    return e.Run(ends_with_turn=turn, patient=turn, max_steps=params.max_steps, synchronous=params.synchronous)


def _parts(prompt: str | None, parts: tuple[Part, ...] | None) -> tuple[Part, ...]:
    texts: tuple[Part, ...] = (TextPart(text=prompt),) if prompt is not None else ()
    return texts + (parts or ())


def folder(cwd: str | None, env: dict[str, str]) -> str:
    """The folder of a new session: as asked for, else where the client is, else its home. Raises InvalidArguments."""
    if cwd is None:
        candidates = (env.get("PWD"), env.get("HOME"), "/")
        return next(path for path in candidates if path and os.path.isabs(path) and os.path.isdir(path))
    if not os.path.isabs(cwd):
        raise InvalidArguments(f"cwd is an absolute path, not {cwd!r}", errors=["cwd is not absolute"])
    if not os.path.isdir(cwd):
        raise InvalidArguments(f"cwd {cwd!r} is not a folder", errors=["cwd is not a folder"])
    return cwd
