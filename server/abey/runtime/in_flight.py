"""The tasks of a daemon's work: what is done in one may be cancelled, and how it ended is told in any case."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")

_Work = Callable[[], Coroutine[Any, Any, _T]]
_Tell = Callable[[_T], Coroutine[Any, Any, None]]


class InFlight(Generic[_T]):
    """Work and its news are one task: two would cost every step some turns of the event loop."""

    def __init__(self) -> None:
        self._working: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: _Work[_T], cancelled: _T, tell: _Tell[_T]) -> asyncio.Task[None]:
        """Does the work, and then tells what it came to: `cancelled` where the task was, which ends only the work."""
        task = asyncio.create_task(self._to_its_end(work, cancelled, tell))
        self._tasks.add(task)
        self._working.add(task)
        task.add_done_callback(partial(self._over, cancelled, tell))
        return task

    def keep(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task that nobody cancels, and that is waited for in the end."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Cancels all work, and waits until it is gone, and told."""
        for task in self._working:
            task.cancel()
        while self._tasks:
            # unlike gather, which from 3.12 on does not wait where all are done, this lets `_over` be called
            await asyncio.wait(self._tasks)

    async def _to_its_end(self, work: _Work[_T], cancelled: _T, tell: _Tell[_T]) -> None:
        try:
            end = await work()
        except asyncio.CancelledError:
            end = cancelled
        task = asyncio.current_task()
        assert task is not None
        self._working.discard(task)
        while task.uncancel():
            pass  # what is told is not being cancelled
        await tell(end)

    def _over(self, cancelled: _T, tell: _Tell[_T], task: asyncio.Task[None]) -> None:
        """A task that is cancelled before it has begun never begins."""
        self._tasks.discard(task)
        if task in self._working:
            self._working.discard(task)
            if task.cancelled():
                self.keep(tell(cancelled))
