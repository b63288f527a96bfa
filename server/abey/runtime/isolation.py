"""What the shell needs to know of sandboxes: whether a call can be run in one."""

from typing import Protocol

from abey.core.agent import Agent, Tool
from abey.core.calls import base_disposition
from abey.core.machine import no_sandbox
from abey.core.once import once
from abey.protocol.policy import Policy, RunIsolated


class Isolation(Protocol):
    """Who knows whether calls can be run in a sandbox here."""

    async def look(self, *, again: bool = False) -> None:
        """Finds out what there is; afterwards `why_not` answers at once. `again`: something may have come since it was
        found out. Never raises."""
        ...

    def why_not(self, tool: Tool, isolation: RunIsolated, cwd: str) -> str | None:
        """Why a call of this tool cannot be run so, in a line, None where it can."""
        ...


class NoIsolation:
    """An Isolation where there is no sandbox."""

    async def look(self, *, again: bool = False) -> None:
        pass

    def why_not(self, tool: Tool, isolation: RunIsolated, cwd: str) -> str | None:
        return no_sandbox(tool, isolation, cwd)


@once
def isolates(agent: Agent) -> bool:
    """Whether a call of this agent may have to be run in a sandbox, as far as its own policy goes."""
    policy = agent.policy or Policy()
    dispositions = [rule.disposition for rule in policy.rules]
    dispositions += [] if policy.default is None else [policy.default]
    return any(isinstance(base_disposition(one), RunIsolated) for one in dispositions)
