"""A server that is a program: lines go to its stdin and come from its stdout, and its stderr is read and let go."""

import asyncio
import logging
import os
from collections import deque
from contextlib import ExitStack, suppress

from abey.runtime.tools.descriptors import Inlet, Outlet, completed
from abey.runtime.tools.mcp.faults import harmless
from abey.runtime.tools.processes import CannotStart, Program, Running, Streams, Talker
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

LONGEST_LINE = 32 << 20
"""Bytes of one message; a longer one ends the conversation."""
_WAITING = 1 << 20
"""Bytes that are read ahead of who takes them."""
_LAST_WORDS = 2000
_LOGGED_LINES = 1000
_LEAVE_SECONDS = 1.0
"""What a program may take to end by itself once its stdin is closed."""


class TooLong(Exception):
    """The program wrote a line that nobody will hold."""


class ServerProgram:
    """A program that was started, for one reader and one writer; `close` in any case."""

    def __init__(self, running: Running, stdin: int, stdout: int, stderr: int, name: str) -> None:
        self._running = running
        self._name = name
        self._stdin: int | None = stdin
        os.set_blocking(stdin, False)
        self._outlet = Outlet(stdin)
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._begun = bytearray()
        self._news = asyncio.Event()
        self._ended = False
        self._too_long = False
        self._inlet = Inlet(stdout, self._take)
        self._words = b""
        self._logged = 0
        self._stderr = Inlet(stderr, self._hear)

    async def ending(self) -> str:
        """How it ended, and what it said last, in a harmless line."""
        try:
            async with asyncio.timeout(_LEAVE_SECONDS):
                ended = await self._running.ended()
        except TimeoutError:
            how = "it closed its output"
        except CannotStart as fault:
            return harmless(str(fault))
        else:
            how = f"exit code {ended.exit_code}" if ended.exit_code is not None else f"killed by signal {ended.signal}"
        lines = self._words.decode("utf-8", "replace").strip().splitlines()
        return f"{how}: {harmless(lines[-1])}" if lines else how

    async def line(self) -> bytes | None:
        """The next line, None at its end. Raises TooLong."""
        while not self._lines:
            if self._too_long:
                raise TooLong(f"a line of more than {LONGEST_LINE} bytes")
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._waiting -= len(line)
        if self._waiting < _WAITING and not self._too_long:
            self._inlet.resume()
        return line

    async def write(self, data: bytes) -> None:
        """Raises OSError where it reads no more."""
        left = memoryview(data)
        while left:
            if self._stdin is None:
                raise BrokenPipeError
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                await self._outlet.writable()

    async def close(self) -> None:
        """It may end by itself for a moment; nothing of its tree is left, however often the caller is cancelled."""
        self._close_stdin()
        await completed(asyncio.ensure_future(self._end()))

    async def _end(self) -> None:
        try:
            # what it has to say to the end is read, so that it can end
            self._lines.clear()
            self._inlet.resume()
            with suppress(TimeoutError, CannotStart):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await self._running.ended()
        finally:
            await self._running.end()
            self._inlet.close()
            self._stderr.close()
            self._ended = True
            self._news.set()

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            self._outlet.close()
            os.close(self._stdin)
            self._stdin = None

    def _take(self, data: bytes) -> None:
        self._ended = self._ended or not data
        self._begun += data
        if b"\n" in data:
            *lines, rest = bytes(self._begun).split(b"\n")
            self._begun = bytearray(rest)
            self._lines += lines
            self._waiting += sum(map(len, lines))
        self._too_long = self._too_long or len(self._begun) > LONGEST_LINE
        if self._too_long:
            self._begun.clear()
        if self._waiting >= _WAITING or self._too_long:
            self._inlet.pause()
        self._news.set()

    def _hear(self, data: bytes) -> None:
        self._words = (self._words + data)[-_LAST_WORDS:]
        for line in data.decode("utf-8", "replace").splitlines():
            if self._logged < _LOGGED_LINES:
                self._logged += 1
                log.debug("%s: %s", self._name, cut(escape_line(line), 500))


async def started(talker: Talker, program: Program, name: str) -> ServerProgram:
    """Raises CannotStart, OSError. When it is cancelled nothing of the program is left."""
    with ExitStack() as kept, ExitStack() as passed:
        stdin, into = _pipe(passed, kept)
        out, stdout = _pipe(kept, passed)
        err, stderr = _pipe(kept, passed)
        running = await talker.converse(program, Streams(stdin, stdout, stderr))
        kept.pop_all()
        return ServerProgram(running, into, out, err, name)


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    reader.callback(os.close, reading)
    writer.callback(os.close, writing)
    return reading, writing
