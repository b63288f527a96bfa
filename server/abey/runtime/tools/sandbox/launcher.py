"""Starts programs where they belong: those that are to be isolated in a sandbox, the others as they are."""

import asyncio
from collections.abc import Awaitable, Callable

from abey.protocol.policy import RunIsolated
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.processes import Ended, Program, Running, Starter, Streams
from abey.runtime.tools.sandbox.sandbox import Confined, Sandbox


class SandboxedLauncher:
    """A Starter. A program with `isolation` is started in a sandbox, or not at all."""

    def __init__(self, launcher: Starter, sandbox: Sandbox) -> None:
        self._launcher = launcher
        self._sandbox = sandbox

    async def launch(self, program: Program, out: int) -> Running:
        return await self._started(program, lambda one: self._launcher.launch(one, out))

    async def converse(self, program: Program, streams: Streams) -> Running:
        return await self._started(program, lambda one: self._launcher.converse(one, streams))

    async def _started(self, program: Program, start: Callable[[Program], Awaitable[Running]]) -> Running:
        if program.isolation is None:
            return await start(program)
        confined = await self._confined(program, program.isolation)
        try:
            running = await start(confined.program)
        except BaseException:
            await _released(confined.release)
            raise
        return _Confined(running, confined.release)

    async def _confined(self, program: Program, isolation: RunIsolated) -> Confined:
        work = asyncio.ensure_future(asyncio.to_thread(self._sandbox.confine, program, isolation))
        try:
            await completed(work)
        except asyncio.CancelledError:
            if not work.cancelled() and work.exception() is None:
                await _released(work.result().release)
            raise
        return work.result()


class _Confined:
    """A Running that clears up behind itself."""

    def __init__(self, running: Running, release: Callable[[], None]) -> None:
        self._running = running
        self._release: Callable[[], None] | None = release

    async def ended(self) -> Ended:
        return await self._running.ended()

    async def end(self) -> None:
        try:
            await self._running.end()
        finally:
            release, self._release = self._release, None
            if release is not None:
                await _released(release)


async def _released(release: Callable[[], None]) -> None:
    await completed(asyncio.ensure_future(asyncio.to_thread(release)))
