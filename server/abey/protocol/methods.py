"""Every method, once: its name, what it takes, what it answers (protocol.md, Requests)."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from abey.protocol.base import Json, LenientWire, SessionId, Wire
from abey.protocol.outcomes import Outcome, Resolution
from abey.protocol.policy import Disposition
from abey.protocol.session import Damage, Delivery, Session, State
from abey.protocol.transcript import Item, Part, Pending, PendingKind

PROTOCOL_VERSION = "1.0"

P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)
W = TypeVar("W", bound=Wire)

Name = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
"""Something to look up: what does not exist is answered by its own kind, not as bad params."""


Prompt = Annotated[str, StringConstraints(min_length=1)]
Parts = Annotated[tuple[Part, ...], Field(min_length=1)]


def exactly_one(params: W, *names: str) -> W:
    """Raises ValueError unless just one of these members is given."""
    given = [name for name in names if getattr(params, name) is not None]
    if len(given) != 1:
        spelled = ", ".join(to_camel(name) for name in names)
        raise ValueError(f"exactly one of {spelled} is required")
    return params


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    """A request: `params` is validated in one place, `result` is what its handler returns."""

    name: str
    params: type[P]
    result: type[R]


class NoParams(Wire):
    """A method without params."""


class Nothing(Wire):
    """An empty result."""


class Effect(Wire):
    """What every request with an effect on a session may say besides: the revision it was decided on."""

    if_revision: int | None = Field(default=None, ge=0)


class UiCapabilities(LenientWire):
    approvals: bool = False
    edit_arguments: bool = False
    diffs: bool = False


class AgentsClientCapabilities(LenientWire):
    """`capabilities.experimental.agents` of the client."""

    protocol_versions: tuple[str, ...]
    client_id: str | None = None
    name: str | None = None
    kind: str | None = None
    ui: UiCapabilities = UiCapabilities()
    deltas: bool = False


class InitializationOptions(LenientWire):
    """`initializationOptions` of the client; `env` stays in memory."""

    token: str | None = None
    workspace_trusted: bool = False
    ask: bool = False
    env: dict[str, str] | None = None


class DaemonInfo(LenientWire):
    pid: int
    build_id: str
    started_at: str
    state_dir: str
    socket: str | None = None


class Limits(LenientWire):
    frame_bytes: int
    header_bytes: int
    json_depth: int
    connections: int
    requests_in_flight: int


class AgentsServerCapabilities(LenientWire):
    """`capabilities.experimental.agents` of the daemon."""

    protocol_version: str
    methods: tuple[str, ...]
    features: tuple[str, ...]
    limits: Limits
    daemon: DaemonInfo
    schema_hash: str


class SessionParams(Wire):
    session_id: Name


class SessionEffect(Effect):
    session_id: Name


class StartParams(Wire):
    agent: Name | None = None
    agent_file: Name | None = None
    config: dict[str, Json] | None = None
    prompt: Prompt | None = None
    parts: Parts | None = None
    cwd: str | None = None
    session_id: SessionId | None = None
    title: str | None = None
    run: Literal["none", "step", "turn"] = "none"
    wait: bool = True

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        return exactly_one(self, "agent", "agent_file", "config")


class StepParams(SessionEffect):
    prompt: Prompt | None = None
    parts: Parts | None = None


class StepResult(Wire):
    outcome: str
    session: Session


class RunParams(SessionEffect):
    until: Literal["yield", "turn"] = "yield"
    max_steps: int | None = Field(default=None, gt=0)
    synchronous: bool = False
    wait: bool = True


class RunResult(Wire):
    outcome: str
    steps: int
    session: Session


class PauseParams(SessionEffect):
    reason: str | None = None


class SendParams(SessionEffect):
    prompt: Prompt | None = None
    parts: Parts | None = None
    input_id: SessionId | None = None
    delivery: Delivery = "turn"
    run: Literal["none", "step", "turn"] = "none"
    wait: bool = True

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.prompt is None and self.parts is None:
            raise ValueError("prompt or parts is required")
        return self


class SendResult(Wire):
    """`position` is 0 when the input was committed at once, else its place in the queue, from 1."""

    input_id: str
    position: int
    session: Session


class PendingParams(Wire):
    session_id: Name | None = None
    kinds: tuple[PendingKind, ...] | None = None
    cursor: str | None = None
    limit: int = Field(default=200, ge=1, le=1000)


class PendingResult(Wire):
    items: tuple[Pending, ...]
    next_cursor: str | None = None


class CompleteParams(Effect):
    token: Name
    outcome: Outcome
    arguments_hash: str | None = None
    resume: bool = False
    wait: bool = True

    @model_validator(mode="after")
    def _bound_to_what_was_shown(self) -> Self:
        if self.outcome.kind in ("approve", "rerun") and self.arguments_hash is None:
            raise ValueError(f"argumentsHash is required with {self.outcome.kind}: that of the call as it was shown")
        return self


class CompleteResult(Wire):
    applied: bool
    resolution: Resolution
    turn_complete: bool
    session: Session


class CancelParams(SessionEffect):
    turn_id: str | None = None
    reason: str | None = None


class StopParams(SessionEffect):
    reason: str | None = None


class AppliedResult(Wire):
    applied: bool
    session: Session


class GetResult(Wire):
    session: Session


class TranscriptParams(SessionParams):
    before: str | None = None
    after: str | None = None
    limit: int = Field(default=200, ge=1, le=200)


class TranscriptResult(Wire):
    items: tuple[Item, ...]
    has_more: bool


class SessionsParams(Wire):
    agent: str | None = None
    under: tuple[str, ...] | None = None
    state: State | None = None
    attention: str | None = None
    cursor: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class SessionsResult(Wire):
    items: tuple[Session, ...]
    next_cursor: str | None = None
    damaged: tuple[Damage, ...] = ()


class EventsParams(SessionParams):
    after: int | None = Field(default=None, ge=0)
    limit: int = Field(default=200, ge=1, le=1000)
    wait_ms: int = Field(default=0, ge=0, le=30000)


class AgentsEvent(Wire):
    """The params of `agents/event`: `seq` is gap-free within a session and survives restarts."""

    session_id: str
    seq: int | None = None
    revision: int
    turn_id: str | None = None
    at: str
    event: dict[str, Json]


class EventsResult(Wire):
    events: tuple[AgentsEvent, ...]
    next_seq: int
    has_more: bool
    status: Literal["ok", "expired"]


class Position(Wire):
    line: int
    character: int


class Range(Wire):
    start: Position
    end: Position


class Diagnostic(Wire):
    """As in LSP: severity 1 error, 2 warning, 3 information, 4 hint."""

    range: Range
    severity: int
    code: str
    message: str
    source: str = "abey"


class AgentListParams(Wire):
    cwd: str | None = None


class AgentListing(Wire):
    slug: str
    path: str
    description: str
    state: Literal["ok", "stale", "invalid", "shadowed"]
    config_hash: str | None = None
    env_names: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class AgentListResult(Wire):
    items: tuple[AgentListing, ...]
    untrusted: tuple[str, ...] = ()


class ValidateParams(Wire):
    uri: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        return exactly_one(self, "uri", "text")


class ValidateResult(Wire):
    diagnostics: tuple[Diagnostic, ...]


class ExplainParams(Wire):
    tool: str
    arguments: Json = None
    agent: Name | None = None
    agent_file: Name | None = None
    config: dict[str, Json] | None = None
    session_id: Name | None = None
    cwd: str | None = None

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        return exactly_one(self, "agent", "agent_file", "config", "session_id")


class ExplainLink(Wire):
    """One rule that was asked, in order: did it match, and why."""

    layer: str
    rule: Json
    matched: bool
    why: str


class ExplainResult(Wire):
    disposition: Disposition
    rule: Json = None
    chain: tuple[ExplainLink, ...]


class StatusResult(Wire):
    daemon: DaemonInfo
    clients: int
    sessions: dict[str, int]
    queues: dict[str, int]
    memory: dict[str, int]
    durability: str
    state: Literal["running", "draining"]


class ShutdownParams(Wire):
    mode: Literal["drain", "now"] = "drain"


START = Method("agents/start", StartParams, Session)
STEP = Method("agents/step", StepParams, StepResult)
RUN = Method("agents/run", RunParams, RunResult)
RESUME = Method("agents/resume", RunParams, RunResult)
PAUSE = Method("agents/pause", PauseParams, Session)
SEND = Method("agents/send", SendParams, SendResult)
PENDING = Method("agents/pending", PendingParams, PendingResult)
COMPLETE = Method("agents/complete", CompleteParams, CompleteResult)
CANCEL = Method("agents/cancel", CancelParams, AppliedResult)
STOP = Method("agents/stop", StopParams, AppliedResult)
REOPEN = Method("agents/reopen", SessionEffect, AppliedResult)
GET = Method("agents/get", SessionParams, GetResult)
TRANSCRIPT = Method("agents/transcript", TranscriptParams, TranscriptResult)
SESSIONS = Method("agents/sessions", SessionsParams, SessionsResult)
EVENTS = Method("agents/events", EventsParams, EventsResult)
LIST = Method("agents/list", AgentListParams, AgentListResult)
VALIDATE = Method("agents/validate", ValidateParams, ValidateResult)
EXPLAIN = Method("agents/explain", ExplainParams, ExplainResult)
STATUS = Method("agents/status", NoParams, StatusResult)
SHUTDOWN = Method("agents/shutdown", ShutdownParams, Nothing)

METHODS: tuple[Method[Any, Any], ...] = (
    START,
    STEP,
    RUN,
    RESUME,
    PAUSE,
    SEND,
    PENDING,
    COMPLETE,
    CANCEL,
    STOP,
    REOPEN,
    GET,
    TRANSCRIPT,
    SESSIONS,
    EVENTS,
    LIST,
    VALIDATE,
    EXPLAIN,
    STATUS,
    SHUTDOWN,
)
