"""Runs tools of kind `command`: an argv, its output as text, its failures as results for the model."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.protocol.journal import BlobRef
from abey.runtime.ports import Clock, ToolCall
from abey.runtime.tools.descriptors import Inlet, completed
from abey.runtime.tools.environment import tool_environment
from abey.runtime.tools.placeholders import BadArgument, fill
from abey.runtime.tools.processes import CannotStart, Ended, Launcher, Program, Running
from abey.runtime.tools.whole import WholeOutput

_LAST_CHUNKS = 32
"""What a pipe may still hold after its writers are gone, and more."""

PROGRAMS = 128
"""Of all sessions together at one time: the next ones wait for their turn, at most as long as they may run."""


class CommandRunner:
    """A ports.ToolRunner. `environment` is the daemon's, of which a tool gets only the variables it names; `programs`
    run at one time."""

    def __init__(
        self, launcher: Launcher, clock: Clock, environment: Mapping[str, str], programs: int = PROGRAMS
    ) -> None:
        self._programs = programs
        self._turns = asyncio.Semaphore(programs)
        self._launcher = launcher
        self._clock = clock
        self._environment = environment

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        try:
            argv = fill(tool.definition["argv"], tool.parameters, call.arguments)
        except BadArgument as bad:
            return ToolOutcome(str(bad), "tool/failed")
        env = tool_environment(call.env, tool.definition["env"], self._environment)
        output = WholeOutput(call.spool)
        try:
            error, line = await self._ending(Program(argv, call.cwd, env), tool.timeout_seconds, output)
            text = output.text()
            whole, note = await _kept(output)
            return ToolOutcome(_with_lines(text, note, line), error, whole)
        finally:
            await completed(asyncio.ensure_future(output.close()))

    async def _ending(self, program: Program, seconds: float, output: WholeOutput) -> tuple[str | None, str | None]:
        """The kind of failure, if it is one, and what is said of it below the output."""
        try:
            async with self._turn(seconds):
                ended = await self._run(program, seconds, output)
        except CannotStart as error:
            return "tool/failed", str(error)
        except OSError as error:
            return "tool/failed", f"cannot start {program.argv[0]}: {error.strerror}"
        if ended is None:
            return "tool/timeout", f"[timed out after {seconds:g} second{'' if seconds == 1 else 's'}]"
        return (None, None) if ended.exit_code == 0 else ("tool/failed", _how(ended))

    @asynccontextmanager
    async def _turn(self, seconds: float) -> AsyncIterator[None]:
        """Raises CannotStart where there is none in `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise CannotStart(f"{self._programs} programs of tools are running, and none ended in time") from None
        try:
            yield
        finally:
            self._turns.release()

    async def _run(self, program: Program, seconds: float, output: WholeOutput) -> Ended | None:
        """How the program ended, None if its time was over. In any case nothing of it is left."""
        reading, writing = os.pipe()
        with _collecting(reading, output):
            try:
                running = await self._launcher.launch(program, writing)
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
def _collecting(reading: int, output: WholeOutput) -> Iterator[None]:
    """Reads the pipe into `output` as it fills, and to its end when the body is done, whoever still holds it."""
    with closing(Inlet(reading, output.add)) as inlet:
        output.flows_from(inlet)
        try:
            yield
        finally:
            for _ in range(_LAST_CHUNKS):
                if not inlet.read():
                    break


async def _kept(output: WholeOutput) -> tuple[BlobRef | None, str | None]:
    """The blob of the whole output, if there is one; and what is said where there should be one and is not."""
    try:
        return await output.kept(), None
    except OSError as error:
        return None, f"[the whole output could not be kept: {error.strerror}]"


def _with_lines(text: str, *lines: str | None) -> str:
    for line in lines:
        if line is not None:
            text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    return text


def _how(ended: Ended) -> str:
    if ended.exit_code is not None:
        return f"[exit code {ended.exit_code}]"
    number = ended.signal or 0
    names = {known.value: known.name for known in signal.Signals}
    return f"[killed by {names.get(number, f'signal {number}')}]"
