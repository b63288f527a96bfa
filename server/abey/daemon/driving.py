"""The methods that move a session: start, step, run, send, complete, and the ways to end things."""

import asyncio
import os

from abey.core import events as e
from abey.core.completing import pending_kind
from abey.core.effects import EndRun
from abey.core.ids import ulid
from abey.core.session import Call, open_calls
from abey.core.turns import queue_order
from abey.core.views import resolution_view
from abey.daemon.services import Services
from abey.errors import AbeyError, DaemonDraining, InvalidArguments
from abey.protocol import queries as q
from abey.protocol import requests as r
from abey.protocol.journal import CallResolved, Cancelled, Created, Stopped
from abey.protocol.session import Session
from abey.protocol.transcript import Part, TextPart
from abey.rpc.peer import Peer
from abey.runtime.clock import millis_of
from abey.runtime.live import Live
from abey.runtime.scheduler import Submitted
from abey.runtime.tools.environment import allowed_environment

TITLE_LENGTH = 80
RUNS: dict[str, e.Run | None] = {"none": None, "step": e.STEP, "turn": e.THIS_TURN}


class Driving:
    """Handlers. A request that waits only waits: what it started goes on without it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def start(self, peer: Peer, params: r.StartParams) -> Session:
        refuse_while_draining(self._services)
        parts = _parts(params.prompt, params.parts)
        env = environment(self._services, peer)
        cwd = folder(params.cwd, env)
        agent, path = self._services.agent_named(params.agent, params.agent_file, params.config, cwd)
        clock = self._services.clock
        created = Created(
            session_id=params.session_id or ulid(millis_of(clock.now()), clock.entropy()),
            agent=agent.slug,
            agent_file=path,
            config=agent.config,
            config_hash=agent.config_hash,
            cwd=cwd,
            title=params.title or _title(parts) or agent.slug,
            env=allowed_environment(env),
            client=peer.client,
        )
        new = e.NewInput(parts) if parts else None
        with self._services.keys.driven(created.session_id, peer.options.env):
            submitted = await self._services.scheduler.start(e.Start(created, new, RUNS[params.run]), agent)
        if params.wait:
            await self._ended(submitted)
        return self._services.show(submitted.live)

    async def step(self, peer: Peer, params: r.StepParams) -> r.StepResult:
        refuse_while_draining(self._services)
        parts = _parts(params.prompt, params.parts)
        event = e.Drive(e.STEP, peer.client, e.NewInput(parts) if parts else None)
        end, live = await self._drive(peer, params, event)
        return r.StepResult(outcome=end.outcome if end else "started", session=self._services.show(live))

    async def run(self, peer: Peer, params: r.RunParams) -> r.RunResult:
        return await self._run(peer, params, e.Drive(_run(params), peer.client))

    async def resume(self, peer: Peer, params: r.RunParams) -> r.RunResult:
        return await self._run(peer, params, e.Drive(_run(params), peer.client, resume=True))

    async def pause(self, peer: Peer, params: r.PauseParams) -> Session:
        live = await self._services.sessions.get(params.session_id)
        await self._services.scheduler.submit(live, e.Pause(params.reason, peer.client), params.if_revision)
        return self._services.show(live)

    async def send(self, peer: Peer, params: r.SendParams) -> r.SendResult:
        live = await self._services.sessions.get(params.session_id)
        clock = self._services.clock
        input_id = params.input_id or ulid(millis_of(clock.now()), clock.entropy())
        new = e.NewInput(_parts(params.prompt, params.parts), input_id, params.delivery)
        event = e.Send(new, RUNS[params.run], peer.client)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision)
        queued = [one.input_id for one in queue_order(submitted.transition.machine.session)]
        position = queued.index(input_id) + 1 if input_id in queued else 0
        if params.wait:
            await self._ended(submitted)
        return r.SendResult(input_id=input_id, position=position, session=self._services.show(live))

    async def complete(self, peer: Peer, params: r.CompleteParams) -> r.CompleteResult:
        live, token = await self._services.sessions.of_token(params.token)
        event = e.Complete(token, params.outcome, params.arguments_hash, peer.client, params.resume)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision)
        call = _call(live, token)
        applied = any(
            isinstance(record.data, CallResolved) and record.data.call_id == call.call_id
            for record in submitted.transition.records
        )
        if applied and params.wait:
            await _finished(live, call)
            if submitted.run is not None:
                await asyncio.shield(submitted.run)
        return r.CompleteResult(
            applied=applied,
            resolution=resolution_view(_call(live, token)),
            turn_complete=not open_calls(live.machine.session),
            session=self._services.show(live),
        )

    async def cancel(self, peer: Peer, params: r.CancelParams) -> r.AppliedResult:
        event = e.Cancel(params.turn_id, params.reason, peer.client)
        return await self._close(params, event)

    async def stop(self, peer: Peer, params: r.StopParams) -> r.AppliedResult:
        return await self._close(params, e.Stop(params.reason, peer.client))

    async def reopen(self, _: Peer, params: q.SessionParams) -> r.AppliedResult:
        live, applied = await self._services.sessions.reopen(params.session_id)
        return r.AppliedResult(applied=applied, session=self._services.show(live))

    async def _close(self, params: r.SessionEffect, event: e.Cancel | e.Stop) -> r.AppliedResult:
        live = await self._services.sessions.get(params.session_id)
        submitted = await self._services.scheduler.submit(live, event, params.if_revision)
        done = submitted.transition
        ended = any(isinstance(record.data, Cancelled | Stopped) for record in done.records)
        while live.machine.work.closing is not None and live.failure is None:
            await live.changed.wait()
        if live.failure is not None:
            raise live.refusal()
        return r.AppliedResult(
            applied=ended or done.machine.work.closing is not None, session=self._services.show(live)
        )

    async def _run(self, peer: Peer, params: r.RunParams, event: e.Drive) -> r.RunResult:
        refuse_while_draining(self._services)
        end, live = await self._drive(peer, params, event, wait=params.wait)
        session = self._services.show(live)
        if end is None:
            return r.RunResult(outcome="started", steps=0, session=session)
        return r.RunResult(outcome=end.outcome, steps=end.steps, session=session)

    async def _drive(
        self, peer: Peer, params: r.SessionEffect, event: e.Drive, *, wait: bool = True
    ) -> tuple[EndRun | None, Live]:
        live = await self._services.sessions.get(params.session_id)
        with self._services.keys.driven(live.id, peer.options.env):
            submitted = await self._services.scheduler.submit(live, event, params.if_revision)
        return (await self._ended(submitted) if wait else None), live

    async def _ended(self, submitted: Submitted) -> EndRun | None:
        """How the run ended that the request waits for. A model failure carries the session that it left."""
        if submitted.run is None:
            return None
        end = await asyncio.shield(submitted.run)
        if end.error is not None:
            session = self._services.show(submitted.live)
            end.error.details |= {"sessionId": session.session_id, "session": session.wire()}
            raise end.error
        return end


def environment(services: Services, peer: Peer) -> dict[str, str]:
    """The variables that the client has, or else the daemon."""
    return dict(peer.options.env if peer.options.env is not None else services.settings.env)


def refuse_while_draining(services: Services) -> None:
    if services.scheduler.draining:
        raise DaemonDraining("the daemon is about to end and takes no new steps; try again in a moment")


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


def _title(parts: tuple[Part, ...]) -> str:
    """The first line of the input, as far as it fits."""
    text = next((part.text for part in parts if isinstance(part, TextPart)), "").strip()
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def _call(live: Live, token: str) -> Call:
    found = live.machine.session.find_call(token)
    if found is None:
        raise AbeyError(f"token {token} is gone")
    return found[1]


async def _finished(live: Live, call: Call) -> None:
    """Waits until a call that was started by an answer has ended, or waits for somebody again."""
    waiter = live.calls.get(call.call_id)
    if waiter is not None and pending_kind(call) is None:
        await asyncio.shield(waiter)
