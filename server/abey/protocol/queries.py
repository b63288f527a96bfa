"""Params and results of the methods that only look (protocol.md, Methods)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from abey.protocol.base import Flag, Int, Json, Wire
from abey.protocol.handshake import DaemonInfo
from abey.protocol.params import Name, exactly_one
from abey.protocol.policy import Disposition
from abey.protocol.session import Damage, Session, State, TurnEnd, Usage
from abey.protocol.transcript import Item, Pending, PendingKind


class SessionParams(Wire):
    session_id: Name


class PendingParams(Wire):
    session_id: Name | None = None
    kinds: tuple[PendingKind, ...] | None = None
    cursor: str | None = None
    limit: Int = Field(default=200, ge=1, le=1000)


class PendingResult(Wire):
    items: tuple[Pending, ...]
    next_cursor: str | None = None


class GetResult(Wire):
    session: Session


class TranscriptParams(SessionParams):
    before: str | None = None
    after: str | None = None
    limit: Int = Field(default=200, ge=1, le=200)


class TranscriptTurn(Wire):
    """`n` counts the turns of the session from 1; `usage` is what the model calls of this one used."""

    turn_id: str
    n: Int
    end: TurnEnd | None = None
    usage: Usage


class TranscriptResult(Wire):
    """`turns`: those that these items are of, oldest first. `results_at`: of the calls among these items, by their ids,
    the revision at which the results of their batch were all there. `queued_texts`: how the inputs that wait begin, by
    their ids."""

    items: tuple[Item, ...]
    has_more: Flag
    turns: tuple[TranscriptTurn, ...] = ()
    results_at: dict[str, Int] | None = None
    queued_texts: dict[str, str] | None = None


class SessionsParams(Wire):
    """`query`: words, all of which stand in the session. Sessions that are put away are shown only if `archived`."""

    query: str | None = None
    agent: str | None = None
    under: tuple[str, ...] | None = None
    state: State | None = None
    attention: str | None = None
    archived: Flag = False
    partial_result_token: Int | str | None = None
    cursor: str | None = None
    limit: Int = Field(default=100, ge=1, le=1000)


class SessionsResult(Wire):
    """`usage` is what all the sessions have used that were asked for, whatever the page holds of them."""

    usage: Usage
    items: tuple[Session, ...]
    next_cursor: str | None = None
    damaged: tuple[Damage, ...] = ()


class EventsParams(SessionParams):
    after: Int | None = Field(default=None, ge=0)
    limit: Int = Field(default=200, ge=1, le=1000)
    wait_ms: Int = Field(default=0, ge=0, le=30000)


class AgentsEvent(Wire):
    """The params of `agents/event`: `seq` is gap-free within a session and survives restarts."""

    session_id: str
    seq: Int | None = None
    revision: Int
    turn_id: str | None = None
    at: str
    event: dict[str, Json]


class EventsResult(Wire):
    events: tuple[AgentsEvent, ...]
    next_seq: Int
    has_more: Flag
    status: Literal["ok", "expired"]


class Position(Wire):
    line: Int
    character: Int


class Range(Wire):
    start: Position
    end: Position


class Diagnostic(Wire):
    """As in LSP: severity 1 error, 2 warning, 3 information, 4 hint."""

    range: Range
    severity: Int
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
    matched: Flag
    why: str


class ExplainResult(Wire):
    disposition: Disposition
    rule: Json = None
    chain: tuple[ExplainLink, ...]


class StatusResult(Wire):
    daemon: DaemonInfo
    clients: Int
    sessions: dict[str, int]
    queues: dict[str, int]
    memory: dict[str, int]
    durability: str
    state: Literal["running", "draining"]
