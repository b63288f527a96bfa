"""What a view tells of the agent as it is now: the rest of it is of the journal alone."""

from collections.abc import Sequence
from typing import Any

from abey.core.agent import Agent, Tool
from abey.core.once import once
from abey.core.suggesting import most_bytes, suggestions
from abey.protocol import session as s
from abey.protocol import transcript as t
from abey.protocol.ascii_json import ascii_size

SCHEMA_BYTES = 256 * 1024
"""More than this of argument schemas is not repeated in a Session; agents/pending has them."""
SUGGESTION_BYTES = 256 * 1024
"""The same for the rules that are suggested."""


def with_agent(bare: s.Session, agent: Agent | None, workspace: str | None) -> s.Session:
    """The view with what depends on its agent as it is now, None where no version of it is left; `workspace` is that of
    the session's `created`."""
    return bare.model_copy(update=told_of_agent(bare.pending, agent, workspace))


def told_of_agent(bare: Sequence[t.Pending], agent: Agent | None, workspace: str | None) -> dict[str, Any]:
    """The members of a Session that depend on its agent; `bare` are its pending calls without that."""
    return {
        "pending": _bounded(pending_with_agent(bare, agent, workspace), agent),
        "execution_mode": "synchronous" if agent is not None and agent.synchronous else "asynchronous",
        "config_state": "stale" if agent is None or agent.stale else "ok",
        "config_problem": agent.stale if agent else None,
    }


def pending_with_agent(bare: Sequence[t.Pending], agent: Agent | None, workspace: str | None) -> tuple[t.Pending, ...]:
    """Pending calls with the schemas of their arguments and the rules that would answer them, as far as the agent has
    the tools."""

    def known(call: t.Pending) -> t.Pending:
        tool = agent.tools.get(call.tool) if agent else None
        if tool is None:
            return call
        offered = suggestions(call, tool, workspace or call.cwd)
        return call.model_copy(update={"arguments_schema": dict(tool.parameters), "suggestions": offered})

    return tuple(map(known, bare))


def _bounded(calls: tuple[t.Pending, ...], agent: Agent | None) -> tuple[t.Pending, ...]:
    """The calls as they stand in a Session: many schemas or rules would make it too long for a reply, and are left
    out."""
    if not calls or agent is None:
        return calls
    left_out: dict[str, object] = {}
    if sum([_schema_bytes(agent.tools[call.tool]) for call in calls if call.arguments_schema]) > SCHEMA_BYTES:
        left_out["arguments_schema"] = None
    rules = [rule for call in calls for rule in call.suggestions]
    if most_bytes(rules) > SUGGESTION_BYTES and ascii_size(rules) > SUGGESTION_BYTES:
        left_out["suggestions"] = ()
    return tuple(call.model_copy(update=left_out) for call in calls) if left_out else calls


@once
def _schema_bytes(tool: Tool) -> int:
    return ascii_size(dict(tool.parameters))
