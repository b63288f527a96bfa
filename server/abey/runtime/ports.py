"""What the shell needs from the world: one or two methods each, so that a fake is a few lines."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from abey.core.agent import Agent, Tool
from abey.core.conversation import ModelAnswer, ModelRequest, ToolOutcome
from abey.core.machine import Machine
from abey.core.policy import NO_LAWS, Laws
from abey.core.previews import Look, no_preview
from abey.core.session import Session
from abey.protocol.base import Json
from abey.protocol.journal import BlobRef
from abey.protocol.policy import RunIsolated
from abey.protocol.transcript import Question
from abey.runtime.around import Hooks, NoHooks
from abey.runtime.child_sessions import ChildSessions, NoChildren
from abey.runtime.isolation import Isolation, NoIsolation
from abey.runtime.kept_open import KeptOpen, NothingOpen
from abey.runtime.quota import Quota
from abey.runtime.rule_keeping import NoRules, RuleKeeper
from abey.runtime.store.store import Store
from abey.runtime.tracing import NoTracing, Tracing
from abey.shared.values import dataclass, replace


class Clock(Protocol):
    """The only source of time and chance."""

    def now(self) -> str:
        """RFC 3339, UTC, milliseconds, `Z`; `millis` is the same, since 1970."""
        ...

    def millis(self) -> int: ...

    def entropy(self) -> bytes:
        """32 random bytes."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Delta(NamedTuple):
    """A piece of a streaming answer; `kind` is `answer` or `thinking`. Many are made, each for a word."""

    kind: str
    text: str


OnDelta = Callable[[Delta], None]


class Model(Protocol):
    """One try at one model call."""

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """The whole answer. Raises ModelFailed; CancelledError leaves nothing behind."""
        ...


class Spool(Protocol):
    """Where all of an output goes that is longer than what a model is told. Blocking; each raises OSError."""

    def write(self, data: bytes) -> bool:
        """Adds what fits: whether there is room for more."""
        ...

    def keep(self) -> BlobRef:
        """The blob of all that was written, durable when this returns."""
        ...

    def drop(self) -> None:
        """Nothing is left of what was not kept; harmless afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """News of a tool that runs, for people: a piece of its output, or a message with how far it is."""

    text: str | None = None
    message: str | None = None
    done: float | None = None
    total: float | None = None


def _unheard(_: Progress) -> None:
    pass


async def _unanswered(_: Question) -> Json:
    return None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a tool is run with: the JSON object that will run, the session's allow-listed variables, and a place for
    all of its output: one, made when it is needed.

    `tell` passes news on and never waits. `ask` has a person asked and gives the value that was answered, None where
    nobody wants to. `isolation`, `preimage`, `child_id` and `answer` are those of the RunTool effect; `session` is the
    session as it was at the start.
    """

    session_id: str
    call_id: str
    invocation_id: str
    arguments: Mapping[str, Any]
    cwd: str
    env: Mapping[str, str]
    spool: Callable[[], Spool]
    tell: Callable[[Progress], None] = _unheard
    ask: Callable[[Question], Awaitable[Json]] = _unanswered
    isolation: RunIsolated | None = None
    preimage: str | None = None
    child_id: str | None = None
    answer: Json = None
    turn_id: str | None = None
    session: Session | None = None


class Toolbox(Protocol):
    """The tools of sessions that are known only once their sources were asked."""

    async def begin(self, agent: Agent) -> Agent:
        """The agent as a session that does not exist yet has it: with the tools that every session has."""
        ...

    def equip(self, agent: Agent, session: Session) -> Agent:
        """The agent with all its tools as this session has them, or still `unlisted`. Reads nothing for long."""
        ...

    async def list(self, agent: Agent, session: Session) -> None:
        """Asks every source that was not asked yet; afterwards the agent is not `unlisted` at this revision. Never
        raises for a source that fails: that one is `missing`. Ends at once where the session does."""
        ...


class Lawgiver(Protocol):
    """Who knows what has a say beside the agent's own policy."""

    def of(self, session: Session) -> Laws:
        """For the calls of this session, now."""
        ...


class ToolRunner(Protocol):
    """Runs calls of one kind of tool."""

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        """Never raises for a tool that fails: that is an outcome. CancelledError kills the whole process tree first."""
        ...


ModelFactory = Callable[[Agent, str], Model]
"""The model an agent names, for the session of that id; raises ModelFailed (`auth`, `invalid-request`) when it cannot
be made."""

CheckArguments = Callable[[Mapping[str, Any], Any, str], str | None]
"""(JSON schema, value) -> what is wrong with the value, in a line, or None."""

Sleeper = Callable[[float], Awaitable[None]]


class AgentSource(Protocol):
    """Where the version of an agent that counts now comes from."""

    def by_file(self, path: Path, workspace: str | None = None) -> Agent:
        """The agent of that file; with `workspace` only while that is trusted. Raises UnknownAgent, InvalidAgent,
        PermissionDenied."""
        ...

    async def prepare(self, path: Path, workspace: str | None = None) -> None:
        """What `by_file` would have to read for long is read before, and holds up nobody else."""
        ...

    def from_config(self, config: Mapping[str, Any]) -> Agent:
        """An agent from the config that a journal or `configs/` keeps. Raises InvalidAgent."""
        ...


class Listener(Protocol):
    """Who is told of what happened, once it is durable."""

    def changed(self, machine: Machine) -> None: ...

    def gone(self, machine: Machine) -> None:
        """The session was deleted."""
        ...

    def streamed(self, session_id: str, step_id: str, delta: Delta) -> None:
        """A piece of the answer of a step."""
        ...

    def restarted(self, session_id: str, event: Mapping[str, Any]) -> None:
        """What was streamed is void: the model is asked again, and `event` says why."""
        ...

    def progressed(self, session_id: str, call_id: str, news: Progress) -> None:
        """A call that runs has news, whole characters only."""
        ...

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        """Something that is live only: never numbered, never replayed."""
        ...


class NoToolbox:
    """A Toolbox for agents whose file says all of their tools."""

    async def begin(self, agent: Agent) -> Agent:
        return agent

    def equip(self, agent: Agent, session: Session) -> Agent:
        return replace(agent, unlisted=False) if agent.unlisted else agent

    async def list(self, agent: Agent, session: Session) -> None:
        pass


class NoLaws:
    """A Lawgiver where nothing but the agent file has a say."""

    def of(self, session: Session) -> Laws:
        return NO_LAWS


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything the shell of a session needs."""

    clock: Clock
    store: Store
    agents: AgentSource
    models: ModelFactory
    tools: Mapping[str, ToolRunner]
    check: CheckArguments
    listener: Listener
    quota: Quota = Quota()
    toolbox: Toolbox = NoToolbox()
    kept_open: KeptOpen = NothingOpen()
    laws: Lawgiver = NoLaws()
    rules: RuleKeeper = NoRules()
    preview: Look = no_preview
    isolation: Isolation = NoIsolation()
    children: ChildSessions = NoChildren()
    hooks: Hooks = NoHooks()
    tracing: Tracing = NoTracing()
