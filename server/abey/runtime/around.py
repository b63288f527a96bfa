"""What stands around every model call of a session."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from abey.core.agent import Agent
from abey.core.conversation import ModelAnswer, ModelRequest
from abey.core.session import Session
from abey.protocol.rulings import Tripwire
from abey.protocol.session import Usage

Ask = Callable[[ModelRequest], Awaitable[ModelAnswer]]
"""The model, with all tries. Raises ModelFailed."""


@dataclass(frozen=True, slots=True)
class FoundExtension:
    """One that is installed, from which package (`name version`), and why it cannot be used, where it cannot."""

    name: str
    package: str
    fault: str | None = None


class TripwireTripped(Exception):
    """An extension ends what the model call belongs to. `usage` is there where the model had answered."""

    def __init__(self, tripwire: Tripwire, message: str, usage: Usage | None) -> None:
        super().__init__(message)
        self.tripwire = tripwire
        self.message = message
        self.usage = usage


class Hooks(Protocol):
    """Who has a say in what a model is asked and has answered."""

    async def around(self, session: Session, agent: Agent, request: ModelRequest, ask: Ask) -> ModelAnswer:
        """The answer that counts, with what is ruled of its calls. Raises ModelFailed, TripwireTripped."""
        ...

    async def found(self) -> Sequence[FoundExtension]:
        """The extensions whose hooks these are, the outermost first."""
        ...


class NoHooks:
    """Nobody has."""

    async def around(self, session: Session, agent: Agent, request: ModelRequest, ask: Ask) -> ModelAnswer:
        return await ask(request)

    async def found(self) -> Sequence[FoundExtension]:
        return ()
