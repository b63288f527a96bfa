"""A session and its usage, as clients see them."""

from typing import Literal

from abey.protocol.base import Flag, Int, Repeatable, Timestamp, Wire
from abey.protocol.transcript import Pending

State = Literal["userTurn", "llmTurn", "partialUserTurn", "completed", "stopped"]
Activity = Literal["idle", "model", "tools", "stopping"]
TurnEnd = Literal["answered", "cancelled", "failed", "tripped", "limit"]
Driver = Literal["step", "run"]
Delivery = Literal["turn", "queue", "interrupt"]


class Usage(Wire):
    input_tokens: Int = 0
    output_tokens: Int = 0
    cached_tokens: Int | None = None
    reasoning_tokens: Int | None = None
    cost: float | None = None
    context_tokens: Int | None = None


class TurnInfo(Wire):
    turn_id: str
    n: Int
    started_at: Timestamp
    ended_at: Timestamp | None = None
    end: TurnEnd | None = None


class QueuedInput(Wire):
    input_id: str
    delivery: Delivery


class LastError(Wire):
    kind: str
    message: str
    at: Timestamp


class Paused(Wire):
    reason: str | None = None
    at: Timestamp


class Damage(Wire):
    session_id: str
    reason: str
    offset: Int | None = None


class Session(Repeatable):
    """Everything a client may know of a session without its transcript."""

    session_id: str
    agent: str
    title: str
    cwd: str
    state: State
    activity: Activity
    revision: Int
    turn: TurnInfo | None = None
    pending: tuple[Pending, ...] = ()
    queued: tuple[QueuedInput, ...] = ()
    output: str | None = None
    last_error: LastError | None = None
    paused: Paused | None = None
    driven_by: Driver
    execution_mode: Literal["synchronous", "asynchronous"]
    usage: Usage
    created_at: Timestamp
    updated_at: Timestamp
    parent: str | None = None
    children: tuple[str, ...] = ()
    forked_from: str | None = None
    config_hash: str
    config_state: Literal["ok", "stale"]
    config_problem: str | None = None
    missing_tools: dict[str, str] | None = None
    archived: Flag | None = None
    damaged: Damage | None = None
