"""The tools of extensions among those of an agent."""

from dataclasses import dataclass, replace

from abey.core.agent import Agent, Tool
from abey.core.session import Session
from abey.runtime.extending.loading import Extensions
from abey.runtime.ports import Toolbox


@dataclass(frozen=True, slots=True)
class Extended:
    """A Toolbox around another: every agent has the tools of all extensions, so that a call of one that waited is known
    whoever was offered it; a model is offered them by hooks alone. The agent's own tools come first."""

    inner: Toolbox
    extensions: Extensions

    async def begin(self, agent: Agent) -> Agent:
        await self.extensions.all()
        return self._with_more(await self.inner.begin(agent))

    def equip(self, agent: Agent, session: Session) -> Agent:
        equipped = self.inner.equip(agent, session)
        if self.extensions.known is None:
            return replace(equipped, unlisted=True)
        return self._with_more(equipped) if self.extensions.known else equipped

    async def list(self, agent: Agent, session: Session) -> None:
        await self.extensions.all()
        if self.inner.equip(agent, session).unlisted:
            await self.inner.list(agent, session)

    def _with_more(self, agent: Agent) -> Agent:
        more: dict[str, Tool] = {}
        for extension in self.extensions.usable:
            more = {**extension.tools, **more}
        return replace(agent, tools={**more, **agent.tools}) if more else agent
