"""What a view tells of the agent as it is now: the rest of it is of the journal alone."""

from collections.abc import Sequence

from abey.core.agent import Agent
from abey.protocol import session as s
from abey.protocol import transcript as t
from abey.protocol.base import canonical_json

SCHEMA_BYTES = 256 * 1024
"""More than this of argument schemas is not repeated in a Session; agents/pending has them."""


def with_agent(bare: s.Session, agent: Agent | None) -> s.Session:
    """The view with what depends on its agent as it is now, None where no version of it is left."""
    changes = {
        "pending": _with_bounded_schemas(pending_with_agent(bare.pending, agent)),
        "execution_mode": "synchronous" if agent is not None and agent.synchronous else "asynchronous",
        "config_state": "stale" if agent is None or agent.stale else "ok",
        "config_problem": agent.stale if agent else None,
    }
    return bare.model_copy(update=changes)


def pending_with_agent(bare: Sequence[t.Pending], agent: Agent | None) -> tuple[t.Pending, ...]:
    """Pending calls with the schemas of their arguments, as far as the agent has the tools."""

    def known(call: t.Pending) -> t.Pending:
        tool = agent.tools.get(call.tool) if agent else None
        return call.model_copy(update={"arguments_schema": dict(tool.parameters)}) if tool else call

    return tuple(map(known, bare))


def _with_bounded_schemas(calls: tuple[t.Pending, ...]) -> tuple[t.Pending, ...]:
    """The calls as they stand in a Session: many schemas would make it too long for a reply, and are left out."""
    if sum(len(canonical_json(call.arguments_schema)) for call in calls if call.arguments_schema) <= SCHEMA_BYTES:
        return calls
    return tuple(call.model_copy(update={"arguments_schema": None}) for call in calls)
