"""Programs that extensions start, as tools of agent files are started."""

from collections.abc import Mapping
from typing import Protocol


class Program(Protocol):
    """One that runs. Nothing of its tree is left once it has ended, once it is ended, or once the daemon is gone,
    whatever has ended that."""

    async def write(self, data: bytes) -> None:
        """To its standard input; returns when it has taken all of it, or will never read it."""
        ...

    async def read(self) -> bytes:
        """What it prints next, to its standard output or error: b"" once it has ended, and all was read. Raises
        ToolError where it turns out that it could not be started."""
        ...

    async def end(self) -> None:
        """Kills what is left of its tree, and waits for that a few seconds at most."""
        ...


class Start(Protocol):
    """Starts a program in the folder of a session."""

    async def __call__(self, *argv: str, env: Mapping[str, str] | None = None) -> Program:
        """With the environment that all tools of the session have, and `env`: without the daemon's keys. Raises
        ToolError where none can be started. Who is cancelled meanwhile leaves nothing."""
        ...
