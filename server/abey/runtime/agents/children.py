"""The agents that other agents name as their tools: where they are found, and what models are told of them."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from abey.core.agent import Agent, Tool
from abey.core.children import is_agent
from abey.core.session import Session
from abey.errors import AbeyError
from abey.protocol.journal import Created
from abey.runtime.agents.registry import Found, Registry
from abey.runtime.ports import Toolbox

REMEMBERED = 256


def agent_named(registry: Registry, tool: Tool, created: Created) -> tuple[Agent, Found]:
    """The agent that a tool of a session names: by its file, or by its slug where the session's own agent was found.

    Reads files. Raises UnknownAgent, InvalidAgent; PermissionDenied where the workspace is not trusted any more.
    """
    if created.workspace is not None and created.agent_file is not None:
        registry.by_file(Path(created.agent_file), created.workspace)  # raises where it is not trusted any more
    found = _found(registry, tool, created)
    return registry.by_file(found.path, None if found.workspace is None else str(found.workspace)), found


def _found(registry: Registry, tool: Tool, created: Created) -> Found:
    named = tool.definition.get("path")
    if isinstance(named, str):
        path = Path(named).expanduser()
        return Found(path, registry.workspace_around(path))
    lent = (Path(created.workspace),) if created.workspace is not None else ()
    return registry.find(str(tool.definition["agent"]), created.workspace or created.cwd, lent)


class Described:
    """A Toolbox around another: a tool whose file says nothing of the agent that it names says what that one's own file
    says. It is looked up once a turn."""

    def __init__(self, inner: Toolbox, registry: Registry) -> None:
        self._inner = inner
        self._registry = registry
        self._known: OrderedDict[tuple[str, str, str], dict[str, str]] = OrderedDict()

    async def begin(self, agent: Agent) -> Agent:
        return await self._inner.begin(agent)

    def equip(self, agent: Agent, session: Session) -> Agent:
        equipped = self._inner.equip(agent, session)
        silent = [tool for tool in equipped.tools.values() if not tool.description and is_agent(tool)]
        if not silent:
            return equipped
        key = (session.id, agent.config_hash, session.turn.turn_id if session.turn else "")
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = dict(self._descriptions(silent, session.created))
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        told = {name: replace(equipped.tools[name], description=text) for name, text in known.items()}
        return replace(equipped, tools={**equipped.tools, **told})

    async def list(self, agent: Agent, session: Session) -> None:
        await self._inner.list(agent, session)

    def _descriptions(self, tools: Sequence[Tool], created: Created) -> Iterator[tuple[str, str]]:
        for tool in tools:
            try:
                agent, _ = agent_named(self._registry, tool, created)
            except AbeyError:  # its call says what is wrong
                continue
            yield tool.name, str(agent.config.get("description", ""))
