"""The daemon's side of the process helper: one helper, started with the first program."""

import asyncio
import os
import sys
from pathlib import Path

from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.orphans import Orphans
from abey.runtime.tools.processes import CannotStart, Program, Running, Streams, refuse_isolated
from abey.runtime.tools.running_helper import RunningHelper
from abey.runtime.tools.supervised import HelperLost

_MAIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from abey.runtime.tools import helper_process as p; p.main()"
_COMMAND = ("-c", _MAIN, str(Path(__file__).parents[3]))
_TRIES = 3


class ProcessHelper:
    """A Starter whose programs leave nothing behind, whatever they do and however they or the daemon end.

    That holds too for a program that stops or kills its supervisor, or the helper, or both at once: what it left comes
    to this process and is killed when its call ends. A program that runs as the same user can do more, like killing the
    daemon and the helper at once, or starting processes faster than they are killed: what can be done is then done in a
    bounded number of sweeps, and no call waits more than a few seconds for it, nor does `close`.

    Without the Linux features it needs it starts programs in process groups, and `leaves_nothing` is False.
    `command` are the arguments with which Python runs the helper. It may take `answer_seconds` to start, or to start a
    supervisor.
    """

    def __init__(self, command: tuple[str, ...] = _COMMAND, answer_seconds: float = 10.0) -> None:
        self._command = command
        self._answer_seconds = answer_seconds
        self._starting = asyncio.Lock()
        self._helper: RunningHelper | None = None
        self._orphans = Orphans()
        self._groups = GroupLauncher()
        self._works = False
        self._is_closed = False
        self._has_lost_one = False
        self.leaves_nothing = sys.platform == "linux" and os.path.isdir("/proc/self")

    async def launch(self, program: Program, out: int) -> Running:
        return await self._start(program, (out,))

    async def converse(self, program: Program, streams: Streams) -> Running:
        return await self._start(program, (streams.stdin, streams.stdout, streams.stderr))

    async def _start(self, program: Program, streams: tuple[int, ...]) -> Running:
        refuse_isolated(program)
        for _ in range(_TRIES):
            try:
                helper = await self._running()
                if helper is None:
                    return await self._groups.start(program, streams)
                return await helper.start(program, streams, self._orphans)
            except HelperLost:
                await self._forget_lost()
        raise CannotStart("the process helper was killed again and again")

    async def close(self) -> None:
        """Ends the helper, and with it whatever still runs. Nothing is started any more."""
        async with self._starting:
            self._is_closed = True
            await completed(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        await self._end_helper()
        if self._has_lost_one:
            self._orphans.forget_all()
            await self._orphans.end()
        self._orphans.expect_no_more()

    async def _running(self) -> RunningHelper | None:
        """The helper, started if there is none; None where there can be none. Raises HelperLost, CannotStart."""
        async with self._starting:
            if self._is_closed:
                raise CannotStart("the process helper is closed")
            if not self.leaves_nothing:
                return None
            if self._helper is None:
                self._orphans.expect()
                self._helper = RunningHelper(self._command, self._answer_seconds)
            if await self._helper.is_ready():
                self._works = True
            elif self._works:
                raise HelperLost
            else:
                self.leaves_nothing = False
                await completed(asyncio.ensure_future(self._close()))
            return self._helper

    async def _forget_lost(self) -> None:
        async with self._starting:
            if self._helper is not None and self._helper.is_lost:
                await completed(asyncio.ensure_future(self._end_helper()))

    async def _end_helper(self) -> None:
        if self._helper is not None:
            helper, self._helper = self._helper, None
            if not await helper.end():
                self._has_lost_one = True
                await self._orphans.end()
