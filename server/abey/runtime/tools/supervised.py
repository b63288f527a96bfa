"""A program under a supervisor of the process helper, seen from the daemon."""

import asyncio
import contextlib
import json
import os
import signal
from typing import Any, Protocol

from abey.runtime.tools.descriptors import Inlet
from abey.runtime.tools.orphans import Orphans
from abey.runtime.tools.processes import CannotStart, Ended
from abey.runtime.tools.trees import has_ended, kill_trees, place_of

_KILL_SECONDS = 2.0
"""How long a tree may take to be gone: first when its supervisor kills it, then when the supervisor was killed, too."""
_PAUSE_SECONDS = 0.005
_LOST = "its supervisor and the process helper were killed; all that was left of the program was ended"


class HelperLost(Exception):
    """The helper was killed before it started the program."""


class Keeper(Protocol):
    """The helper, the parent of the supervisor."""

    @property
    def pid(self) -> int: ...

    def wake(self) -> None:
        """Has it go on, should somebody have stopped it."""
        ...

    def kill(self) -> None: ...


class Supervised:
    """A Running. The supervisor kills its program when `life` ends, and tells on `status`, both owned from here on."""

    def __init__(self, keeper: Keeper, orphans: Orphans, life: int, status: int) -> None:
        self._keeper = keeper
        self._orphans = orphans
        self._supervisor: int | None = None
        self._text = b""
        self._told: list[dict[str, Any]] = []
        self._at_end = False
        self._news = asyncio.Event()
        self._life: int | None = life
        self._status = Inlet(status, self._take)

    async def started(self) -> None:
        """Waits for its supervisor. Raises CannotStart, HelperLost."""
        told = await self._line(0)
        if told is None:
            raise HelperLost
        if "fault" in told:
            raise CannotStart(told["fault"])

    async def ended(self) -> Ended:
        told = await self._line(1)
        if told is None:
            raise CannotStart(_LOST)
        if "fault" in told:
            raise CannotStart(told["fault"])
        return Ended(exit_code=told.get("exit"), signal=signal.SIGKILL if told.get("killed") else told.get("signal"))

    async def end(self) -> None:
        try:
            if not self._is_over():
                await self._kill()
            if not self._has_told() or self._is_adopted():
                self._forget()
                await self._leave_orphans()
                await self._orphans.end()
        finally:
            self.close()

    def close(self) -> None:
        """Has it killed and gives up its descriptors, without waiting."""
        self._end_life()
        self._forget()
        self._status.close()
        self._take(b"")

    async def _kill(self) -> None:
        self._end_life()
        self._wake()
        for force in (self._kill_supervisor, self._keeper.kill):
            if await self._is_over_within(_KILL_SECONDS):
                return
            force()
        await self._is_over_within(_KILL_SECONDS)

    async def _leave_orphans(self) -> None:
        """Waits until those who were killed have ended: what they left comes to this process only then."""
        dying = [pid for pid in (self._supervisor, self._keeper.pid) if pid is not None]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_SECONDS):
                while self._at_end and not self._has_told() and not all(map(has_ended, dying)):  # noqa: ASYNC110  no event
                    await asyncio.sleep(_PAUSE_SECONDS)

    def _end_life(self) -> None:
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def _wake(self) -> None:
        self._keeper.wake()
        if self._supervisor is not None and self._is_supervisor(self._supervisor):
            with contextlib.suppress(ProcessLookupError):  # it ended since we looked
                os.kill(self._supervisor, signal.SIGCONT)

    def _kill_supervisor(self) -> None:
        if self._supervisor is not None and self._is_supervisor(self._supervisor):
            kill_trees([self._supervisor])

    def _is_supervisor(self, pid: int) -> bool:
        """Whether the supervisor is still there: else its pid may be that of another process by now."""
        place = place_of(pid)
        return place is not None and place.parent in (self._keeper.pid, os.getpid())

    def _is_adopted(self) -> bool:
        return self._supervisor is not None and self._orphans.has(self._supervisor)

    def _forget(self) -> None:
        if self._supervisor is not None:
            self._orphans.forget(self._supervisor)

    def _take(self, data: bytes) -> None:
        self._at_end = self._at_end or not data
        *lines, self._text = (self._text + data).split(b"\n")
        self._told += map(json.loads, lines)
        if self._supervisor is None and self._told and "supervisor" in self._told[0]:
            self._supervisor = self._told[0]["supervisor"]
            self._orphans.know(self._supervisor)
        self._news.set()

    async def _line(self, number: int) -> dict[str, Any] | None:
        """That line of what was told; None if it will never be."""
        while len(self._told) <= number and not self._at_end:
            self._news.clear()
            await self._news.wait()
        return self._told[number] if number < len(self._told) else None

    def _is_over(self) -> bool:
        return self._at_end or self._has_told()

    def _has_told(self) -> bool:
        return bool(self._told) and "supervisor" not in self._told[-1]

    async def _is_over_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while not self._is_over():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True
