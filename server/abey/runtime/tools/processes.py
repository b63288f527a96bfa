"""What it takes to run a program: the ports between the tools that need one and those who start it."""

from dataclasses import dataclass
from typing import Protocol

from abey.protocol.policy import RunIsolated


@dataclass(frozen=True, slots=True)
class Program:
    """What to start: `argv[0]` is looked up in PATH of `env`, or relative to `cwd` if it has a slash.

    With `isolation` it is for a sandbox, and for no launcher but one that has it (tools/sandbox).
    """

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    isolation: RunIsolated | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: `exit_code`, or the number of the `signal` that killed it."""

    exit_code: int | None = None
    signal: int | None = None


class CannotStart(Exception):
    """The program did not run, or nobody knows how it ended; the message says why, in a line."""


def refuse_isolated(program: Program) -> None:
    """For launchers that have no sandbox. Raises CannotStart."""
    if program.isolation is not None:
        raise CannotStart("the program is for a sandbox, and this is none")


class Running(Protocol):
    """A program that was started."""

    async def ended(self) -> Ended:
        """How it ended, as soon as nothing of its tree is left. Raises CannotStart. May be asked again."""
        ...

    async def end(self) -> None:
        """Kills what is left of its tree, waits a few seconds at most until it is gone, gives up its descriptors.

        The descriptors are given up even when this is cancelled.
        """
        ...


class Launcher(Protocol):
    """Starts programs: stdin closed, a session of their own, no inherited descriptors."""

    async def launch(self, program: Program, out: int) -> Running:
        """Starts `program` with stdout and stderr on descriptor `out`, which stays the caller's. Raises CannotStart.

        When it is cancelled nothing of the program is left, or will be within a few seconds.
        """
        ...


@dataclass(frozen=True, slots=True)
class Streams:
    """The descriptors of a program that is talked to; all of them stay the caller's."""

    stdin: int
    stdout: int
    stderr: int


class Talker(Protocol):
    """Starts programs that are talked to, in every other way as a Launcher does."""

    async def converse(self, program: Program, streams: Streams) -> Running:
        """Starts `program` with these streams. Raises CannotStart.

        When it is cancelled nothing of the program is left, or will be within a few seconds.
        """
        ...


class Starter(Launcher, Talker, Protocol):
    """Starts both kinds."""
