"""The core and the journal without a daemon around them: sessions on a disk, moved by calls in this process."""

import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from abey.core import events as e
from abey.core.agent import Agent, Tool
from abey.core.call import Call
from abey.core.conversation import ToolOutcome
from abey.core.hashes import shown_hash
from abey.core.machine import Machine
from abey.core.session import open_calls
from abey.protocol.journal import Created
from abey.protocol.outcomes import Approve
from abey.protocol.transcript import Client, TextPart
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.clock import SystemClock
from abey.runtime.collector import collect_seldom
from abey.runtime.live import Live
from abey.runtime.models.keys import Keys
from abey.runtime.models.making import make_models
from abey.runtime.models.network import Network
from abey.runtime.ports import Delta, ModelFactory, Ports, Progress, ToolCall, ToolRunner
from abey.runtime.scheduler import Scheduler, Submitted
from abey.runtime.sessions import Sessions
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store
from abey.runtime.tools.arguments import check_arguments
from bench import work

CLIENT = Client(id="bench", name="bench", kind="test")


class Instant:
    """A ToolRunner that has its result already."""

    def __init__(self, result: str = work.RESULT) -> None:
        self._result = result

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        return ToolOutcome(self._result)


class Nobody:
    """A Listener that hears everything and does nothing."""

    def changed(self, machine: Machine) -> None:
        pass

    def gone(self, machine: Machine) -> None:
        pass

    def streamed(self, session_id: str, step_id: str, delta: Delta) -> None:
        pass

    def restarted(self, session_id: str, event: Mapping[str, Any]) -> None:
        pass

    def progressed(self, session_id: str, call_id: str, news: Progress) -> None:
        pass

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        pass


class Inside:
    """Sessions of one state directory. A step returns once what came of it is durable."""

    def __init__(
        self, state: Path, io: FileIO, config: work.Value, tool: ToolRunner, models: ModelFactory | None = None
    ) -> None:
        clock, registry = SystemClock(), Registry(state.parent / "config")
        store = Store(state, io)
        versions = Versions(registry, store)
        self._agent: Agent = registry.inline(config, str(state.parent))
        self._sessions = Sessions(store, versions, clock)
        ports = Ports(
            clock=clock,
            store=store,
            agents=registry,
            models=models or make_models(clock, Keys(state.parent / "config", {}), Network({})),
            tools={"command": tool},
            check=check_arguments,
            listener=Nobody(),
        )
        self._scheduler = Scheduler(ports, self._sessions, versions)

    async def start(self, session_id: str) -> Live:
        """A session without input."""
        created = Created(
            session_id=session_id,
            agent=self._agent.slug,
            config=self._agent.config,
            config_hash=self._agent.config_hash,
            cwd="/",
            title="bench",
        )
        return (await self._scheduler.start(e.Start(created, None, None), self._agent)).live

    async def reopen(self, session_id: str) -> Live:
        """A session that is on the disk."""
        return await self._sessions.get(session_id)

    async def prompt(self, live: Live, text: str = work.PROMPT, run: e.Run | None = e.THIS_TURN) -> None:
        """The first step of a turn, and the only one of an agent whose calls need no approval."""
        new = e.NewInput((TextPart(text=text),))
        await _end(await self._scheduler.submit(live, e.Send(new, run, CLIENT)))

    async def approve(self, live: Live, resume: bool = True) -> None:
        """The second step."""
        [call] = open_calls(live.machine.session)
        await _end(await self._scheduler.submit(live, _approval(live, call, resume)))
        while not resume and live.machine.work.live:  # nobody drives: the call that may run runs by itself
            await live.changed.wait()

    async def drive(self, live: Live) -> None:
        """One move of the machine, as `agents/step` makes it."""
        await _end(await self._scheduler.submit(live, e.Drive(e.STEP, CLIENT)))

    async def turn(self, live: Live) -> None:
        await self.prompt(live)
        await self.approve(live)

    async def turn_step_by_step(self, live: Live) -> None:
        """The same turn, each of its moves asked for."""
        await self.prompt(live, run=None)
        await self.drive(live)
        await self.drive(live)
        await self.approve(live, resume=False)
        await self.drive(live)

    async def close(self) -> None:
        await self._scheduler.close()
        await self._sessions.snapshots.leave(self._sessions.loaded)


@asynccontextmanager
async def inside(
    state: Path, io: FileIO, config: work.Value | None = None, result: str = work.RESULT
) -> AsyncIterator[Inside]:
    opened, thresholds = Inside(state, io, config or work.config(), Instant(result)), gc.get_threshold()
    collect_seldom()
    try:
        yield opened
    finally:
        gc.set_threshold(*thresholds)
        await opened.close()


def _approval(live: Live, call: Call, resume: bool) -> e.Complete:
    assert call.verdict is not None
    return e.Complete(call.verdict.token, Approve(), shown_hash(live.machine.session, call), CLIENT, resume)


async def _end(submitted: Submitted) -> None:
    """Whoever asked waits for the run that they began."""
    if submitted.run is None:
        return
    end = await submitted.run
    if end.error is not None:
        raise end.error
