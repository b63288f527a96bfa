"""Params and results of the methods that make a session of another, or take it back (protocol.md, Methods)."""

import re
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from abey.protocol.base import ID_PATTERN, Int, Json, Wire
from abey.protocol.params import Name, exactly_one
from abey.protocol.requests import NewSession, SessionEffect


class ForkParams(SessionEffect):
    """Without `at`: as the session is now."""

    at: Int | None = Field(default=None, ge=1)
    title: str | None = None


class RewindParams(SessionEffect):
    to: Int = Field(ge=1)


class SeedParams(NewSession):
    """The value is in `seed`, or its members stand beside these: they are judged as a seed, not here. An agent may be
    left out where an id is given: a stopped session goes on with its own."""

    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True)

    agent: Name | None = None
    agent_file: Name | None = None
    config: dict[str, Json] | None = None
    seed: Json = None
    cwd: str | None = None
    title: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _own_id(cls, params: Any) -> Any:
        """The id of the seed is that of the session, so that a request with a key finds it."""
        if not isinstance(params, dict) or "sessionId" in params:
            return params
        seed = params.get("seed", params)
        session_id = seed.get("id") if isinstance(seed, dict) else None
        fits = isinstance(session_id, str) and re.match(ID_PATTERN, session_id) is not None
        return {**params, "sessionId": session_id} if fits else params

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        named = any(one is not None for one in (self.agent, self.agent_file, self.config))
        return exactly_one(self, "agent", "agent_file", "config") if named or self.session_id is None else self


Transition = Literal[
    "input", "model-requested", "candidate", "tool-results", "waiting", "final", "cancelled", "failed", "stopped"
]
Status = Literal["idle", "running", "waiting", "stopped"]


class RecordedSession(Wire):
    id: str
    user_id: str | None = None
    context: Json = None
    turn_count: Int
    status: Status


class RecordResult(Wire):
    """A session as the record of its last transition, which it has none of before its first input (machine.md,
    Records)."""

    version: Int = 1
    revision: Int
    transition: Transition | None = None
    session: RecordedSession
    transcript: tuple[Json, ...]
    active: Json = None
