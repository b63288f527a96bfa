"""The shell without sockets: a real store, a model that plays what a test says, tools that a test lets end."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from support.world import CLIENT, agent, answer, check_arguments, text_parts

from abey.core import events as e
from abey.core.agent import Agent, Tool
from abey.core.conversation import ModelAnswer, ModelRequest, ToolOutcome
from abey.core.machine import Machine
from abey.errors import InvalidAgent, ModelFailed, UnknownAgent
from abey.protocol.journal import Created
from abey.runtime.agents.versions import Versions
from abey.runtime.clock import ManualClock
from abey.runtime.keeping import Keeping
from abey.runtime.kept_open import KeptOpen, NothingOpen
from abey.runtime.live import Live
from abey.runtime.ports import Delta, OnDelta, Ports, Progress, ToolCall
from abey.runtime.quota import Quota
from abey.runtime.scheduler import Scheduler, Submitted
from abey.runtime.sessions import Sessions
from abey.runtime.snapshotting import LEAST_BYTES, Snapshotting
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store


class PlayedModel:
    """Says what it was given, in order; an error is raised, a Gate is waited for first."""

    def __init__(self, replies: list[Any]) -> None:
        self.replies = replies
        self.requests: list[ModelRequest] = []

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, asyncio.Event):
            await reply.wait()
            reply = self.replies.pop(0)
        if isinstance(reply, ModelFailed):
            raise reply
        assert isinstance(reply, ModelAnswer)
        return reply


@dataclass
class HeldTools:
    """Tools that end when the test says so; `stubborn` ones ignore their abort."""

    started: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Future[ToolOutcome]] = field(default_factory=dict)
    running: int = 0
    most: int = 0
    instant: bool = True
    stubborn: bool = False

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        self.started.append(tool.name)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return ToolOutcome(f"{tool.name} ran") if self.instant else await self._held(tool.name)
        finally:
            self.running -= 1

    async def _held(self, name: str) -> ToolOutcome:
        gate = self.gates.setdefault(name, asyncio.get_running_loop().create_future())
        while True:
            try:
                return await asyncio.shield(gate)
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise

    def end(self, name: str, content: Any = "ok") -> None:
        self.gates[name].set_result(ToolOutcome(content))


@dataclass
class Heard:
    """A Listener that keeps what it hears."""

    revisions: list[int] = field(default_factory=list)
    notices: list[Mapping[str, Any]] = field(default_factory=list)
    went: list[str] = field(default_factory=list)
    streams: dict[str, list[Delta]] = field(default_factory=dict)
    news: dict[str, list[Progress]] = field(default_factory=dict)

    def changed(self, machine: Machine) -> None:
        self.revisions.append(machine.session.revision)

    def gone(self, machine: Machine) -> None:
        self.went.append(machine.session.id)

    def streamed(self, session_id: str, step_id: str, delta: Delta) -> None:
        self.streams.setdefault(step_id, []).append(delta)

    def progressed(self, session_id: str, call_id: str, news: Progress) -> None:
        self.news.setdefault(call_id, []).append(news)

    def restarted(self, session_id: str, event: Mapping[str, Any]) -> None:
        self.notices.append(event)

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        self.notices.append(event)


class OneAgent:
    """An AgentSource of one agent, which a test may replace as if its file had been saved."""

    def __init__(self, only: Agent) -> None:
        self.only: Agent | None = only
        self.known = {only.config_hash: only}
        self.asked: list[str] = []
        self.while_prepared: Callable[[], None] = lambda: None

    def save(self, new: Agent) -> None:
        self.only = new
        self.known[new.config_hash] = new

    def by_file(self, path: Path, workspace: str | None = None) -> Agent:
        self.asked.append("by_file")
        if self.only is None:
            raise UnknownAgent(f"no agent file {path}")
        return self.only

    async def prepare(self, path: Path, workspace: str | None = None) -> None:
        self.asked.append("prepare")
        self.while_prepared()

    def from_config(self, config: Mapping[str, Any]) -> Agent:
        found = self.known.get(config.get("version", ""))
        if found is None:
            raise InvalidAgent("nobody kept this version")
        return found


UNLIMITED = Quota()
"""As large as any session of a test."""


class Shell:
    """One daemon's inside on a state directory."""

    def __init__(
        self,
        state: Path,
        replies: list[Any],
        *,
        io: FileIO | None = None,
        least: int = LEAST_BYTES,
        quota: Quota = UNLIMITED,
        model: Any = None,
        tools: Any = None,
        kept_open: KeptOpen | None = None,
        **limits: Any,
    ) -> None:
        self.clock = ManualClock()
        self.tools = HeldTools()
        self.model = PlayedModel(replies)
        self.heard = Heard()
        self.source = OneAgent(versioned(agent(**limits)))
        self.store = Store(state, io or FileIO("process"))
        self.versions = Versions(self.source, self.store)
        self.sessions = Sessions(self.store, self.versions, self.clock, Snapshotting(self.store, least))
        ports = self.ports = Ports(
            clock=self.clock,
            store=self.store,
            agents=self.source,
            models=lambda _, __: model or self.model,
            tools={"command": tools or self.tools},
            check=check_arguments,
            listener=self.heard,
            quota=quota,
            kept_open=kept_open or NothingOpen(),
        )
        self.scheduler = Scheduler(ports, self.sessions, self.versions)
        self.keeping = Keeping(ports, self.sessions, self.scheduler.parking)

    async def start(
        self, session_id: str = "s1", run: e.Run | None = None, title: str = "t", prompt: str | None = "hello"
    ) -> Submitted:
        assert self.source.only is not None
        created = Created(
            session_id=session_id,
            agent="a",
            agent_file="/agents/a.json",
            config=self.source.only.config,
            config_hash=self.source.only.config_hash,
            cwd="/",
            title=title,
        )
        event = e.Start(created, e.NewInput(text_parts(prompt)) if prompt is not None else None, run)
        return await self.scheduler.start(event, self.source.only)

    async def drive(self, live: Live, run: e.Run = e.STEP) -> Submitted:
        return await self.scheduler.submit(live, e.Drive(run, CLIENT))

    async def until(self, condition: Any, seconds: float = 10) -> None:
        """Waits for a condition, letting everything else go on."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - what is waited for is anything a test can see
                await asyncio.sleep(0.001)


def versioned(one: Agent) -> Agent:
    return replace(one, config={"version": one.config_hash})


async def outcome(submitted: Submitted) -> str:
    assert submitted.run is not None
    return (await asyncio.wait_for(asyncio.shield(submitted.run), 10)).outcome


__all__ = ["CLIENT", "Shell", "agent", "answer", "outcome", "versioned"]
