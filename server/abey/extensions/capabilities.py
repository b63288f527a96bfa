"""What a session keeps open while it is in memory: made when it is first needed, and ended in reverse order."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from abey.extensions.errors import ToolError
from abey.extensions.programs import Program, Start
from abey.protocol.base import Json


async def start_nothing(*argv: str, **_: object) -> Program:
    """A Start where none can be started."""
    raise ToolError(f"cannot start {argv[0]}: no programs are started here")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Whose it is. `user_id` and `context` are those of the seed that the session was made of; `start` starts programs
    in its folder."""

    id: str
    agent: str
    cwd: str
    user_id: str | None = None
    context: Json = None
    start: Start = field(default=start_nothing, compare=False, repr=False)


class Signal(Protocol):
    """Fires once: what was being made is not wanted any more."""

    @property
    def aborted(self) -> bool: ...

    @property
    def reason(self) -> str: ...

    async def wait(self) -> None:
        """Returns when it fires; at once when it has."""
        ...


@dataclass(frozen=True, slots=True)
class Capability:
    """A declaration. `create` is called at most once a session, `dispose` with what it gave, when the session ends."""

    id: str
    create: Callable[[SessionInfo, Signal], Awaitable[Any]]
    dispose: Callable[[Any], Awaitable[None]] | None = None


class CapabilityError(Exception):
    """`kind` is `capability/undeclared`, `capability/create-failed` or `capability/closed`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Capabilities(Protocol):
    """Those of one session."""

    def has(self, capability_id: str) -> bool:
        """Whether it is declared."""
        ...

    async def get(self, capability_id: str) -> Any:
        """The value, made on the first call. Raises CapabilityError, always the same one once the making has failed."""
        ...
