"""Work that has so much time, by a clock that a test may hold."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from abey.runtime.ports import Clock
from abey.runtime.tools.descriptors import completed

T = TypeVar("T")


class OutOfTime(Exception):
    """The time of some work was over before its end."""


class Countdown:
    """So many seconds, not counting those in which it is `paused`."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._left = seconds
        self._pauses = 0
        self._changed = asyncio.Event()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """May be nested, in any task of the same loop."""
        self._pauses += 1
        self._changed.set()
        try:
            yield
        finally:
            self._pauses -= 1
            self._changed.set()

    async def over(self) -> None:
        """Returns when they are."""
        while not await self._goes_by():
            pass

    async def _goes_by(self) -> bool:
        """Whether the time was over before something changed."""
        self._changed.clear()
        changing, begun = asyncio.ensure_future(self._changed.wait()), self._clock.millis()
        waited = {changing} if self._pauses else {changing, asyncio.ensure_future(self._slept())}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waited:
                one.cancel()
        if len(waited) > 1:
            self._left -= max(0, self._clock.millis() - begun) / 1000  # somebody may have set it back
        return any(one is not changing and one.done() and not one.cancelled() for one in waited)

    async def _slept(self) -> bool:
        await self._clock.sleep(max(self._left, 0.0))
        return True


async def within(countdown: Countdown, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. Raises OutOfTime after that time. However this ends, `work` has ended before."""
    task, timer = asyncio.ensure_future(work), asyncio.ensure_future(countdown.over())
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        task.cancel()
        timer.cancel()
        await completed(asyncio.gather(task, timer, return_exceptions=True))
    if task.cancelled():
        raise OutOfTime
    return task.result()
