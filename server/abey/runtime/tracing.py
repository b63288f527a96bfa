"""Who follows the work of sessions, to tell others how it went; nothing of that is kept, and nothing waits for it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from abey.core.agent import Agent, Tool
from abey.core.conversation import ToolOutcome
from abey.core.session import Session
from abey.protocol.journal import Record
from abey.runtime.around import Ask

if TYPE_CHECKING:
    from abey.runtime.ports import ToolCall

Run = Callable[[], Awaitable[ToolOutcome]]
"""A call of a tool, with all that decorators do around it."""


class Tracing(Protocol):
    """Every method but `close` returns at once, and none raises."""

    def asking(self, session: Session, agent: Agent, ask: Ask) -> Ask:
        """`ask`, and each time it is asked is followed to its end."""
        ...

    def running(self, tool: Tool, call: "ToolCall", run: Run) -> Run:
        """`run`, followed to its end."""
        ...

    def committed(self, session: Session, agent: Agent, records: Sequence[Record]) -> None:
        """These records of the session are durable, and it is as they left it."""
        ...

    async def close(self) -> None:
        """What was followed has been told, as far as that can be done soon."""
        ...


class NoTracing:
    """Nobody: what is asked and run is what it was."""

    def asking(self, session: Session, agent: Agent, ask: Ask) -> Ask:
        return ask

    def running(self, tool: Tool, call: "ToolCall", run: Run) -> Run:
        return run

    def committed(self, session: Session, agent: Agent, records: Sequence[Record]) -> None:
        pass

    async def close(self) -> None:
        pass


MakeTracing = Callable[[Mapping[str, str]], Tracing]
"""Of the environment of a daemon."""


def no_tracing(_: Mapping[str, str]) -> Tracing:
    """A MakeTracing for who follows nothing."""
    return NoTracing()
