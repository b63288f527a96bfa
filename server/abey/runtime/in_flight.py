"""The tasks of a daemon's work: what is done in one may be cancelled, or not, and how it ended is told in any case."""

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
        self._working: dict[asyncio.Task[None], Callable[[], Coroutine[Any, Any, None]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: _Work[_T], cancelled: _T, tell: _Tell[_T]) -> asyncio.Task[None]:
        """Does the work, and then tells what it came to: `cancelled` where the task was, which ends only the work."""
        task = asyncio.create_task(self._to_its_end(work, cancelled, tell))
        self._tasks.add(task)
        self._working[task] = partial(tell, cancelled)
        task.add_done_callback(self._never_begun)
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
            # unlike gather, which from 3.12 on does not wait where all are done, this lets callbacks be called
            await asyncio.wait(self._tasks)

    async def _to_its_end(self, work: _Work[_T], cancelled: _T, tell: _Tell[_T]) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.remove_done_callback(self._never_begun)
        try:
            try:
                end = await work()
            except asyncio.CancelledError:
                end = cancelled
            finally:
                del self._working[task]
            while task.uncancel():
                pass  # what is told is not being cancelled
            await tell(end)
        finally:
            self._tasks.discard(task)  # not by a callback, which would be another turn of the loop

    def _never_begun(self, task: asyncio.Task[None]) -> None:
        """It was cancelled before, and nobody else tells of it."""
        self._tasks.discard(task)
        self.keep(self._working.pop(task)())


class Undisturbed(Generic[_T]):
    """Work that goes on to its end, whoever asked for it and whether or not they still wait."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def done(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What it comes to. Raises what it does."""
        told: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._tasks.add(asyncio.create_task(self._tell(work, told)))
        try:
            return await told
        finally:
            del told  # an error that comes of it would hold it, and it the error

    async def close(self) -> None:
        """Waits for all of it, and until who waits for it has it."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # what came of work that ended in this turn comes to who waits for it in the next one

    async def _tell(self, work: Coroutine[Any, Any, _T], told: asyncio.Future[_T]) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            end = await work
        except Exception as error:  # noqa: BLE001  whoever waits gets it
            if not told.done():
                told.set_exception(error)
        else:
            if not told.done():
                told.set_result(end)
        finally:
            told.cancel()  # where it is not done, this was
            self._tasks.discard(task)  # not by a callback either
            del told  # as above
