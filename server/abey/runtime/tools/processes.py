"""What it takes to run a program: the ports between the tools that need one and those who start it."""

import asyncio
import os
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Program:
    """What to start: `argv[0]` is looked up in PATH of `env`, or relative to `cwd` if it has a slash."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: `exit_code`, or the number of the `signal` that killed it."""

    exit_code: int | None = None
    signal: int | None = None


class CannotStart(Exception):
    """The program did not run, or nobody knows how it ended; the message says why, in a line."""


class Running(Protocol):
    """A program that was started."""

    async def ended(self) -> Ended:
        """How it ended, as soon as nothing of its tree is left. Raises CannotStart. May be asked again."""
        ...

    def kill(self) -> None:
        """Has its whole tree killed; `ended` tells when that is done. Harmless at any time."""
        ...

    def close(self) -> None:
        """Kills it and gives up its descriptors."""
        ...


class Launcher(Protocol):
    """Starts programs: stdin closed, a session of their own, no inherited descriptors."""

    async def launch(self, program: Program, out: int) -> Running:
        """Starts `program` with stdout and stderr on descriptor `out`, which stays the caller's. Raises CannotStart."""
        ...


async def readable(descriptor: int) -> None:
    """Waits until `descriptor` has bytes, or its end, to read."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def writable(descriptor: int) -> None:
    """Waits until `descriptor` takes bytes."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


def close_all(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
