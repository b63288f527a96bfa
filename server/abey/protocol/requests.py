"""Params and results of the methods that move a session (protocol.md, Methods)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from abey.protocol.base import Flag, IdempotencyKey, Int, Json, Repeatable, SessionId, Wire
from abey.protocol.outcomes import Outcome, Resolution
from abey.protocol.params import Name, Parts, Prompt, exactly_one
from abey.protocol.policy import AskedRule
from abey.protocol.session import Delivery, Session


class Effect(Wire):
    """What every request with an effect on a session may say besides: the revision it was decided on, and a key under
    which a repeat is the same request."""

    if_revision: Int | None = Field(default=None, ge=0)
    idempotency_key: IdempotencyKey | None = None


class SessionEffect(Effect):
    session_id: Name


class NewSession(Effect):
    """A request that makes a session: its revision before is 0, and without `session_id` a key gives it its id."""

    session_id: SessionId | None = None


class StartParams(NewSession):
    agent: Name | None = None
    agent_file: Name | None = None
    config: dict[str, Json] | None = None
    prompt: Prompt | None = None
    parts: Parts | None = None
    cwd: str | None = None
    title: str | None = None
    run: Literal["none", "step", "turn"] = "none"
    wait: Flag = True

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        return exactly_one(self, "agent", "agent_file", "config")


class StepParams(SessionEffect):
    prompt: Prompt | None = None
    parts: Parts | None = None


class StepResult(Repeatable):
    outcome: str
    session: Session


class RunParams(SessionEffect):
    until: Literal["yield", "turn"] = "yield"
    max_steps: Int | None = Field(default=None, gt=0)
    synchronous: Flag = False
    wait: Flag = True


class RunResult(Repeatable):
    outcome: str
    steps: Int
    session: Session


class PauseParams(SessionEffect):
    reason: str | None = None


class SendParams(SessionEffect):
    prompt: Prompt | None = None
    parts: Parts | None = None
    input_id: SessionId | None = None
    delivery: Delivery = "turn"
    run: Literal["none", "step", "turn"] = "none"
    wait: Flag = True

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.prompt is None and self.parts is None:
            raise ValueError("prompt or parts is required")
        return self


class SendResult(Repeatable):
    """`position` is 0 when the input was committed at once, else its place in the queue, from 1."""

    input_id: str
    position: Int
    session: Session


class WithdrawParams(SessionEffect):
    input_id: Name


class ContinueParams(SessionEffect):
    """A turn without new input."""

    run: Literal["none", "step", "turn"] = "turn"
    wait: Flag = True


class CompleteParams(Effect):
    token: Name
    outcome: Outcome
    arguments_hash: str | None = None
    rule: AskedRule | None = None
    resume: Flag = False
    wait: Flag = True

    @model_validator(mode="after")
    def _bound_to_what_was_shown(self) -> Self:
        if self.outcome.kind in ("approve", "rerun") and self.arguments_hash is None:
            raise ValueError(f"argumentsHash is required with {self.outcome.kind}: that of the call as it was shown")
        if self.rule is not None and self.outcome.kind not in ("approve", "deny"):
            raise ValueError(f"rule goes with approve or deny, not with {self.outcome.kind}")
        return self


class CompleteResult(Repeatable):
    applied: Flag
    resolution: Resolution
    turn_complete: Flag
    session: Session


class RunIsolatedParams(Effect):
    """Of one call, or of all of a session that wait for a sandbox."""

    token: Name | None = None
    session_id: Name | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        return exactly_one(self, "token", "session_id")


class RunIsolatedResult(Repeatable):
    """`ran` are the ids of the calls that were run, in model order."""

    ran: tuple[str, ...]
    session: Session


class CancelParams(SessionEffect):
    turn_id: str | None = None
    reason: str | None = None


class StopParams(SessionEffect):
    reason: str | None = None


class AppliedResult(Repeatable):
    applied: Flag
    session: Session


class ShutdownParams(Wire):
    mode: Literal["drain", "now"] = "drain"
