"""Starts programs in process groups, where there is no helper: a child that left its group outlives its call."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, Process

from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.processes import CannotStart, Ended, Program, Running, refuse_isolated

_KILL_SECONDS = 2.0
"""How long a killed program may take to be gone; only what waits for a device takes longer."""


class GroupLauncher:
    """A Launcher for systems without subreapers."""

    async def launch(self, program: Program, out: int) -> Running:
        return await self.start(program, (out,))

    async def start(self, program: Program, streams: tuple[int, ...]) -> Running:
        """`streams` are its output, or its stdin, stdout and stderr. Raises CannotStart."""
        refuse_isolated(program)
        starting = asyncio.ensure_future(_started(program, streams))
        try:
            await completed(starting)
        except asyncio.CancelledError:
            if not starting.cancelled() and starting.exception() is None:
                await completed(asyncio.ensure_future(_Group(starting.result()).end()))
            raise
        except (OSError, ValueError) as fault:
            raise CannotStart(_why_not(program, fault)) from None
        return _Group(starting.result())


async def _started(program: Program, streams: tuple[int, ...]) -> Process:
    stdin, stdout, stderr = streams if len(streams) == 3 else (DEVNULL, *streams, *streams)
    return await asyncio.create_subprocess_exec(
        *program.argv,
        cwd=program.cwd,
        env=program.env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _why_not(program: Program, fault: OSError | ValueError) -> str:
    """A ValueError is about what no program can be given, like a NUL character."""
    if isinstance(fault, OSError):
        in_folder, why = fault.filename == program.cwd, fault.strerror
    else:
        in_folder, why = "\0" in program.cwd, str(fault)
    what = f"enter {program.cwd}" if in_folder else f"start {program.argv[0]}"
    return f"cannot {what}: {why}".encode("utf-8", "replace").decode()


class _Group:
    def __init__(self, process: Process) -> None:
        self._process = process

    async def ended(self) -> Ended:
        code = await self._process.wait()
        return Ended(exit_code=code) if code >= 0 else Ended(signal=-code)

    async def end(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nobody is left in the group
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_SECONDS):
                await self._process.wait()
