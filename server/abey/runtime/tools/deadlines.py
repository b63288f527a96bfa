"""Work that has so much time, by a clock that a test may hold."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from abey.runtime.ports import Clock
from abey.runtime.tools.descriptors import completed

T = TypeVar("T")


class OutOfTime(Exception):
    """The time of some work was over before its end."""


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. Raises OutOfTime after `seconds`. However this ends, `work` has ended before."""
    task, timer = asyncio.ensure_future(work), asyncio.ensure_future(clock.sleep(seconds))
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
