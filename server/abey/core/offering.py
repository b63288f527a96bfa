"""The tools that a model is told of: the same values at every call, as long as the agent has them."""

from abey.core.agent import Agent, Tool
from abey.core.conversation import OfferedTool
from abey.core.once import once


@once
def offered_tools(agent: Agent) -> tuple[OfferedTool, ...]:
    """Those that every model call may use."""
    return tuple([_offered(tool) for tool in agent.tools.values() if tool.offered])


@once
def _offered(tool: Tool) -> OfferedTool:
    return OfferedTool(tool.name, tool.description, tool.parameters)
