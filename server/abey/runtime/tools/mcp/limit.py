"""The time that a call may take."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class TimeLimit:
    """Around the work of a call: raises TimeoutError after so many seconds, not counting those that are `paused`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)
        self._pauses = 0
        self._left = seconds
        self._over = False

    async def __aenter__(self) -> "TimeLimit":
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        await self._timeout.__aexit__(kind, value, trace)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time stands still meanwhile: a person is asked. May be nested, in any task of the same loop."""
        self._pauses += 1
        if self._pauses == 1 and self._runs():
            self._left = max(0.0, (self._timeout.when() or 0.0) - asyncio.get_running_loop().time())
            self._timeout.reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0 and self._runs():
                self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _runs(self) -> bool:
        return not self._over and not self._timeout.expired()
