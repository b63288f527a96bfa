"""A signal that fires once, work that ends with it, and whose cancellation it is that ends some."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from abey.extensions.capabilities import CapabilityError, Signal
from abey.runtime.tools.descriptors import completed

_T = TypeVar("_T")

ANY_END = (Exception, BaseExceptionGroup, asyncio.CancelledError, SystemExit, KeyboardInterrupt)
"""Whatever comes out of code that is not ours, caught where that is called: of a task the last two would end the
daemon. Who interrupts that sends it a signal, and no exception is made of it."""


class AbortSignal:
    """A Signal."""

    def __init__(self) -> None:
        self._fired = asyncio.Event()
        self._reason = ""

    @property
    def aborted(self) -> bool:
        return self._fired.is_set()

    @property
    def reason(self) -> str:
        return self._reason

    async def wait(self) -> None:
        await self._fired.wait()

    def fire(self, reason: str) -> None:
        """A second time changes nothing."""
        if not self.aborted:
            self._reason = reason
            self._fired.set()


async def unless_aborted(signal: Signal, work: Coroutine[Any, Any, _T]) -> _T:
    """What comes of `work`, which is cancelled when the signal fires. Raises CapabilityError (`capability/closed`)."""
    if signal.aborted:
        work.close()
        raise closed(signal)
    task, fired = asyncio.ensure_future(work), asyncio.ensure_future(signal.wait())
    try:
        await asyncio.wait({task, fired}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        fired.cancel()
        task.cancel()  # does nothing to one that has ended
        await completed(asyncio.gather(task, return_exceptions=True))
    if task.cancelled() and signal.aborted:
        raise closed(signal)
    return task.result()


def being_cancelled() -> bool:
    """Whether the task that runs is, and not only what it has awaited: a library may cancel a task of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def closed(signal: Signal) -> CapabilityError:
    return CapabilityError("capability/closed", f"nothing is made for the session any more: {signal.reason}")


def retrieved(task: "asyncio.Future[Any]") -> None:
    """Of work that has ended: how it failed is known, though nobody may wait for it any more."""
    if not task.cancelled():
        task.exception()
