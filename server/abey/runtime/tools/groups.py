"""Starts programs in process groups, where there is no helper: a child that left its group outlives its call."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process

from abey.runtime.tools.processes import CannotStart, Ended, Program, Running


class GroupLauncher:
    """A Launcher for systems without subreapers."""

    async def launch(self, program: Program, out: int) -> Running:
        try:
            process = await asyncio.create_subprocess_exec(
                *program.argv,
                cwd=program.cwd,
                env=program.env,
                stdin=DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        except OSError as error:
            what = f"enter {program.cwd}" if error.filename == program.cwd else f"start {program.argv[0]}"
            raise CannotStart(f"cannot {what}: {error.strerror}") from None
        return _Group(process)


class _Group:
    def __init__(self, process: Process) -> None:
        self._process = process

    async def ended(self) -> Ended:
        code = await self._process.wait()
        self.kill()
        return Ended(exit_code=code) if code >= 0 else Ended(signal=-code)

    def kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nobody is left in the group
            return

    def close(self) -> None:
        self.kill()
