"""Of what a session keeps open, what one extension has declared: the others' is nothing of it."""

from dataclasses import dataclass
from typing import Any

from abey.core.session import Session
from abey.extensions import Capabilities
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.extending.installed import Installed, scoped
from abey.runtime.extending.loading import Extensions


@dataclass(frozen=True, slots=True)
class Scoped:
    """A Capabilities."""

    extension: str
    inner: Capabilities

    def has(self, capability_id: str) -> bool:
        return self.inner.has(scoped(self.extension, capability_id))

    async def get(self, capability_id: str) -> Any:
        return await self.inner.get(scoped(self.extension, capability_id))


@dataclass(frozen=True, slots=True)
class Declared:
    """What extensions keep open for sessions: all is declared before one of them asks for anything, in their order."""

    extensions: Extensions
    states: CapabilityStates

    def of(self, extension: Installed, session: Session) -> Scoped:
        state = self.states.of(session)
        for one in self.extensions.usable:
            state.declare(one.capabilities)
        return Scoped(extension.name, state)
