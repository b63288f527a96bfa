"""The threads that write journals: few, and kept. A step waits for several writes, and asyncio's own threads take more
of the processor for handing each over than it takes to write.
"""

import asyncio
import weakref
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any


@dataclass(frozen=True, slots=True)
class _Work:
    """What a thread does, and who is told in the loop: (future, result, error)."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    tell: Callable[[asyncio.Future[Any], Any, BaseException | None], None]

    def do(self) -> None:
        result, error = None, None
        try:
            result = self.function(*self.arguments)
        except BaseException as raised:  # noqa: BLE001  whoever waits gets it
            error = raised
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self.loop.call_soon_threadsafe(self.tell, self.future, result, error)
        del self, error  # the frames of an error keep this one, and all that is in it


class Writers(Executor):
    """For `run_in_executor` of the loop that runs: as many threads as have had work at one time, at most `most`. They
    end once nobody has this any more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads = 0
        self._at_work = 0
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        weakref.finalize(self, self._queue.put, None)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Any:
        """A future of the loop, which asyncio hands on as it is: one of threads costs more than the write."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if self._threads < min(self._at_work + 1, self._most):
            Thread(target=_work, args=(self._queue,), name=f"writer-{self._threads}", daemon=True).start()
            self._threads += 1
        self._at_work += 1
        self._queue.put(_Work(loop, future, function, arguments, self._tell))
        return future

    def _tell(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        self._at_work -= 1
        if future.done():
            return  # whoever waited was cancelled
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _work(queue: SimpleQueue[_Work | None]) -> None:
    while (work := queue.get()) is not None:
        work.do()
        del work  # while it waits for more, a thread keeps nothing
    queue.put(None)  # for the next one
