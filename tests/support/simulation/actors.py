"""The world around a simulated daemon: its clock, its models and its tools, which do what the story says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from support.simulation.extending import hooks_of
from support.simulation.story import HookDoes, ModelDoes, Story, ToolDoes

from abey.core.agent import Agent, Tool
from abey.core.conversation import AskedCall, ModelAnswer, ModelRequest, ToolOutcome
from abey.core.previews import no_preview
from abey.daemon.tooling import Tooling
from abey.daemon.world import World
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock
from abey.protocol.session import Usage
from abey.protocol.transcript import Question
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.clock import millis_of
from abey.runtime.models.strictness import fault_of
from abey.runtime.ports import Delta, NoToolbox, OnDelta, Progress, ToolCall
from abey.runtime.tools.sandbox.sandbox import Found

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
DELTAS = 3
CALM = ModelDoes(text='"done"')
"""What fits any agent."""


@dataclass
class Actors:
    """`broken` are promises that were seen to be broken from here; `ran` are the calls that ran, by session and
    invocation.

    `durable` is what is on the disk of a session for good, and nothing may be done that does not stand there. `calm`:
    everything answers at once and well. `busy` are the models and tools that are at it, by a name of their own, with
    what they will say.
    """

    story: Story
    chance: Random
    durable: Callable[[str], bytes]
    told: Callable[[str], None]
    calm: bool = False
    skew: float = 0.0
    asked: int = 0
    hooked: int = 0
    ran: dict[tuple[str, str], str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    busy: dict[str, str] = field(default_factory=dict)

    def world(self) -> World:
        return World(
            self, self._models, self._tooling, watch_nothing, lambda _: Found(why="there is no sandbox in a simulation")
        )

    def now(self) -> str:
        moment = EPOCH + timedelta(seconds=asyncio.get_running_loop().time() + self.skew)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def millis(self) -> int:
        return millis_of(self.now())

    def entropy(self) -> bytes:
        return self.chance.randbytes(32)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _models(self, *_: Any) -> Callable[[Agent, str], "SimulatedModel"]:
        return lambda _, session_id: SimulatedModel(self, session_id)

    def _tooling(self, *given: Any) -> Tooling:
        states = CapabilityStates(self, given[-1].noticed)
        return Tooling({"command": SimulatedTools(self)}, NoToolbox(), states, no_preview, hooks_of(self, states))

    def next_model(self) -> ModelDoes:
        self.asked += 1
        return CALM if self.calm else self.story.models[(self.asked - 1) % len(self.story.models)]

    def next_hook(self) -> HookDoes:
        self.hooked += 1
        return HookDoes() if self.calm else self.story.hooks[(self.hooked - 1) % len(self.story.hooks)]

    def next_tool(self) -> ToolDoes:
        return ToolDoes() if self.calm else self.story.tools[(len(self.ran) - 1) % len(self.story.tools)]

    @contextmanager
    def at_it(self, name: str, words: str) -> Iterator[None]:
        self.busy[name] = words
        try:
            yield
        finally:
            del self.busy[name]

    async def pass_time(self, seconds: float, *, deaf: bool) -> None:
        """Who is deaf lets nobody abort it."""
        until = asyncio.get_running_loop().time() + seconds
        while True:
            left = until - asyncio.get_running_loop().time()
            if not deaf:
                await asyncio.sleep(max(left, 0.0))
                return
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(max(left, 0.0))
                return


class SimulatedModel:
    """A ports.Model."""

    def __init__(self, actors: Actors, session_id: str) -> None:
        self._actors = actors
        self._session_id = session_id

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        actors = self._actors
        does = actors.next_model()
        actors.told(f"{self._session_id}: the model is asked; {does}")
        fault = fault_of(request)
        if fault is not None:
            actors.broken.append(f"the model of {self._session_id} is asked what no provider takes: {fault}")
        durable = actors.durable(self._session_id)
        if durable.rfind(b'"type":"model-requested"') <= durable.rfind(b'"type":"candidate"'):
            actors.broken.append(f"a model is asked for {self._session_id}, and the request is not on the disk")
        with actors.at_it(f"model {actors.asked}", does.text):
            for _ in range(DELTAS):
                await actors.pass_time(does.seconds / DELTAS, deaf=does.deaf)
                on_delta(Delta("answer", does.text[:20]))
        if does.code:
            raise ModelFailed(does.code, "it failed")
        blocks = (TextBlock(text=does.text),) if does.text else ()
        reason = "tool_calls" if does.calls else "stop"
        calls = tuple(AskedCall(*call) for call in does.calls)
        return ModelAnswer(blocks, calls, reason, Usage(input_tokens=5, output_tokens=2))


class SimulatedTools:
    """A ports.ToolRunner."""

    def __init__(self, actors: Actors) -> None:
        self._actors = actors

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        actors, what = self._actors, f"{tool.name}#{call.call_id} of {call.session_id}"
        start = call.session_id, call.invocation_id
        if start in actors.ran:
            actors.broken.append(f"{what} runs twice for one start")
        actors.ran[start] = call.call_id
        does = actors.next_tool()
        actors.told(f"{what} runs; {does}")
        if tool.name == "no":
            actors.broken.append(f"{what} runs, and is denied by the policy")
        if call.invocation_id.encode() not in actors.durable(call.session_id):
            actors.broken.append(f"{what} runs, and its start is not on the disk")
        with actors.at_it(call.invocation_id, f"out of {call.invocation_id}"):
            return await self._played(does, call)

    async def _played(self, does: ToolDoes, call: ToolCall) -> ToolOutcome:
        if does.how == "prints":
            call.tell(Progress(text="some output\n", message="on my way", done=1, total=2))
        await self._actors.pass_time(does.seconds, deaf=does.deaf)
        match does.how:
            case "asks":
                return ToolOutcome({"said": await call.ask(Question(kind="approval", prompt="sure?"))})
            case "failed":
                return ToolOutcome("it did not work", "tool/failed")
            case "raises":
                raise RuntimeError("a tool of the simulation that raises")
            case _:
                return ToolOutcome(f"out of {call.invocation_id}")


async def watch_nothing(_: tuple[Path, ...]) -> AsyncIterator[Any]:
    """A Watch that never sees anything."""
    await asyncio.Event().wait()
    yield


def agents(version: int, *, typed: bool) -> Mapping[str, Any]:
    """The agent files, by name, in one of their versions; with `typed` an answer has to be JSON."""
    rules: list[dict[str, Any]] = [
        {"tool": "bg", "disposition": "runAsync"},
        {"tool": "ask", "disposition": {"tag": "defer", "reason": "approval required"}},
        {"tool": "no", "disposition": {"tag": "deny", "reason": "never"}},
        {"tool": "alone", "disposition": "runSync", "serial": True},
        {"tool": "soon", "disposition": {"tag": "defer", "expireSeconds": 20}},
    ]
    command = {"kind": "command", "argv": ["true", str(version % 2)], "parameters": PARAMETERS}
    tools = [{**command, "name": name} for name in ("run", "bg", "ask", "no", "alone", "soon")]
    tools += [{**command, "name": "safe", "idempotent": True}, {"kind": "external", "name": "ext"}]
    default = "runSync" if version % 3 else {"tag": "defer", "reason": "everything is asked"}
    agent = {"slug": "a", "model": MODEL, "toolCallPolicy": {"default": default, "rules": rules}}
    agent |= {"outputSchema": {"type": "string"}} if typed else {}
    kid = {**agent, "slug": "kid", "tools": tools, "description": "a child"}
    asks = {"kind": "agent", "name": "kid", "agent": "kid"}
    limits = {"stopGraceSeconds": 1, "maxConcurrency": 2}
    return {"a": {**agent, "tools": [*tools, asks], "limits": limits}, "kid": kid}


MODEL = {"provider": "scripted", "script": [{"text": "never played"}]}
PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}}
