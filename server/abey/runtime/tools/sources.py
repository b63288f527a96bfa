"""What has tools that are known only once it was asked: how each kind of them is opened, and what is open then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from abey.core.agent import Tool, ToolSource


class SourceFailed(Exception):
    """A source that cannot be asked for its tools; the message says why, in a line for people and the model."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session's tools run: its cwd, and the allow-listed variables it was started with."""

    session_id: str
    cwd: str
    env: Mapping[str, str]


class Opened(Protocol):
    """A source that was asked."""

    @property
    def tools(self) -> Sequence[Tool]:
        """As they are now: a source may change them by itself."""
        ...

    def is_current(self) -> bool:
        """False where it should be asked anew before the next step. Reads nothing for long."""
        ...

    async def close(self) -> None:
        """Nothing of it is left. Never raises for what is gone already."""
        ...


@runtime_checkable
class Renewable(Opened, Protocol):
    """One that is asked anew as it is: closing it would lose more than its list of tools."""

    async def renew(self) -> None:
        """Its tools are as they are now. Raises SourceFailed."""
        ...


@runtime_checkable
class Faulty(Opened, Protocol):
    """One in which something is no tool, and hides no other."""

    @property
    def faults(self) -> Mapping[str, str]:
        """What the names of the tools would be that it cannot have, and why not."""
        ...


class Opener(Protocol):
    """Asks sources of one kind."""

    async def open(self, source: ToolSource, place: Place) -> Opened:
        """Raises SourceFailed. CancelledError leaves nothing behind."""
        ...
