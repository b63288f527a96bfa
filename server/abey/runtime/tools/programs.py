"""Runs programs of tools, so many at one time, and says how each ended."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Protocol

from abey.runtime.ports import Clock
from abey.runtime.tools.descriptors import Inlet, completed
from abey.runtime.tools.processes import CannotStart, Ended, Running
from abey.runtime.tools.telling import out_of_time

_LAST_CHUNKS = 32
"""What a pipe may still hold after its writers are gone, and more."""

PROGRAMS = 128
"""Of all sessions together at one time: the next ones wait for their turn, at most as long as they may run."""

Start = Callable[[int], Awaitable[Running]]
"""Starts a program that writes to this descriptor, which stays the caller's. Raises CannotStart."""


class Sink(Protocol):
    """Where the output of a program goes."""

    def add(self, data: bytes) -> None: ...

    def flows_from(self, inlet: Inlet | None) -> None:
        """What `add` gets comes from there, and may be held up."""
        ...


class Programs:
    """At most `most` run at one time."""

    def __init__(self, clock: Clock, most: int = PROGRAMS) -> None:
        self._most = most
        self._turns = asyncio.Semaphore(most)
        self._clock = clock

    async def ending(self, name: str, seconds: float, output: Sink, start: Start) -> tuple[str | None, str | None]:
        """Runs a program, which is called `name`, for `seconds` at most: the kind of failure, if it is one, and what is
        said of it below its output. Nothing of it is left."""
        try:
            async with self._turn(seconds):
                ended = await self._run(seconds, output, start)
        except CannotStart as error:
            return "tool/failed", str(error)
        except OSError as error:
            return "tool/failed", f"cannot start {name}: {error.strerror}"
        if ended is None:
            return "tool/timeout", out_of_time(seconds)
        return (None, None) if ended.exit_code == 0 else ("tool/failed", _how(ended))

    @asynccontextmanager
    async def _turn(self, seconds: float) -> AsyncIterator[None]:
        """Raises CannotStart where there is none in `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise CannotStart(f"{self._most} programs of tools are running, and none ended in time") from None
        try:
            yield
        finally:
            self._turns.release()

    async def _run(self, seconds: float, output: Sink, start: Start) -> Ended | None:
        """How the program ended, None if its time was over. In any case nothing of it is left."""
        reading, writing = os.pipe()
        with collecting(reading, output):
            try:
                running = await start(writing)
            finally:
                os.close(writing)
            try:
                return await self._watched(running, seconds)
            finally:
                await completed(asyncio.ensure_future(running.end()))

    async def _watched(self, running: Running, seconds: float) -> Ended | None:
        end = asyncio.ensure_future(running.ended())
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({end, timer}, return_when=asyncio.FIRST_COMPLETED)
            return end.result() if end.done() else None
        finally:
            end.cancel()
            timer.cancel()
            await completed(asyncio.gather(end, timer, return_exceptions=True))


@contextmanager
def collecting(reading: int, output: Sink) -> Iterator[None]:
    """Reads the pipe into `output` as it fills, and to its end when the body is done, whoever still holds it."""
    with closing(Inlet(reading, output.add)) as inlet:
        output.flows_from(inlet)
        try:
            yield
        finally:
            for _ in range(_LAST_CHUNKS):
                if not inlet.read():
                    break
            output.flows_from(None)  # each would hold the other, and whom the output is told to, until it is collected


def _how(ended: Ended) -> str:
    if ended.exit_code is not None:
        return f"[exit code {ended.exit_code}]"
    number = ended.signal or 0
    names = {known.value: known.name for known in signal.Signals}
    return f"[killed by {names.get(number, f'signal {number}')}]"
