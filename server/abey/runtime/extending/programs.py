"""Programs of extensions: under a supervisor of the process helper, as those of tools are."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from abey.core.session import Session
from abey.extensions.errors import ToolError
from abey.extensions.programs import Program, Start
from abey.runtime.tools import processes
from abey.runtime.tools.descriptors import Inlet, Outlet, completed
from abey.runtime.tools.environment import allowed_environment
from abey.runtime.tools.processes import CannotStart, Running, Streams, Talker

_READ_AHEAD = 1 << 20
"""Bytes that are held for who reads them."""
_TELLING_SECONDS = 1.0
"""What may pass, once all is printed, until it is known how a program has ended."""


@dataclass(frozen=True, slots=True)
class Starting:
    """Gives each session what starts programs for it."""

    talker: Talker

    def of(self, session: Session) -> Start:
        cwd, allowed = session.created.cwd, allowed_environment(session.created.env)

        async def start(*argv: str, env: Mapping[str, str] | None = None) -> Program:
            return await started(self.talker, processes.Program(argv, cwd, {**allowed, **(env or {})}))

        return start


async def started(talker: Talker, program: processes.Program) -> Program:
    """Raises ToolError. When it is cancelled nothing of the program is left."""
    with ExitStack() as kept, ExitStack() as passed:
        stdin, into = _pipe(passed, kept)
        out, stdout = _pipe(kept, passed)
        try:
            running = await talker.converse(program, Streams(stdin, stdout, stdout))
        except CannotStart as fault:
            raise ToolError(str(fault)) from fault
        kept.pop_all()
        return _Started(running, into, out)


class _Started:
    """A Program, which owns these ends of its pipes. One may read and one may write at a time."""

    def __init__(self, running: Running, stdin: int, out: int) -> None:
        self._running = running
        self._stdin: int | None = stdin
        os.set_blocking(stdin, False)
        self._outlet = Outlet(stdin)
        self._printed = bytearray()
        self._has_printed = False
        self._at_end = False
        self._news = asyncio.Event()
        self._inlet = Inlet(out, self._take)

    async def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left and self._stdin is not None:
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                await self._outlet.writable()
            except BrokenPipeError:
                return

    async def read(self) -> bytes:
        while not self._printed and not self._at_end:
            self._news.clear()
            await self._news.wait()
        if not self._has_printed and self._stdin is not None:
            await self._refuse_unstarted()
        printed, self._printed = bytes(self._printed), bytearray()
        self._inlet.resume()
        return printed

    async def end(self) -> None:
        """However often the caller is cancelled."""
        await completed(asyncio.ensure_future(self._end()))

    async def _refuse_unstarted(self) -> None:
        """Raises ToolError where that is why nothing was printed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TELLING_SECONDS):
                try:
                    await self._running.ended()
                except CannotStart as fault:
                    raise ToolError(str(fault)) from fault

    async def _end(self) -> None:
        if self._stdin is not None:
            self._outlet.close()
            os.close(self._stdin)
            self._stdin = None
        try:
            await self._running.end()
        finally:
            self._inlet.close()
            self._at_end = True
            self._news.set()

    def _take(self, data: bytes) -> None:
        self._at_end = self._at_end or not data
        self._printed += data
        self._has_printed = self._has_printed or bool(data)
        if len(self._printed) >= _READ_AHEAD:
            self._inlet.pause()
        self._news.set()


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    reader.callback(os.close, reading)
    writer.callback(os.close, writing)
    return reading, writing
