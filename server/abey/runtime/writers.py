"""The threads that write journals: few, and kept. A step waits for several writes, and asyncio's own threads take more
of the processor for handing each over than it takes to write.
"""

import asyncio
import os
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Any

from abey.shared.values import dataclass


class _Answer(asyncio.Future[Any]):
    """What comes of work in a thread. Whoever waits for it goes on as soon as it is there: of another future, a turn of
    the loop later."""

    _waiting: tuple[tuple[Callable[[Any], object], Context], ...] = ()

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        if self.done():
            super().add_done_callback(fn, context=context)
        else:
            self._waiting = (*self._waiting, (fn, context or copy_context()))

    def remove_done_callback(self, fn: Callable[[Any], object], /) -> int:
        left = tuple([one for one in self._waiting if one[0] != fn])
        removed, self._waiting = len(self._waiting) - len(left), left
        return removed + super().remove_done_callback(fn)

    def cancel(self, msg: Any | None = None) -> bool:
        waiting, self._waiting = self._waiting, ()
        for fn, context in waiting:
            super().add_done_callback(fn, context=context)
        return super().cancel(msg)

    def told(self) -> None:
        """It is there. No task runs now, as one does that cancels it."""
        waiting, self._waiting = self._waiting, ()
        for fn, context in waiting:
            context.run(fn, self)


_Tell = Callable[[_Answer, Any, BaseException | None], None]
"""In the loop: (answer, result, error)."""


class _Done:
    """What threads have done, until the loop takes it, which a byte in a pipe tells it to: `call_soon_threadsafe` costs
    twice as much."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._work: deque[tuple[_Tell, _Answer, Any, BaseException | None]] = deque()
        out, self._into = os.pipe()
        weakref.finalize(self, _close, out, self._into).atexit = False  # a thread may write to it to the end
        loop.add_reader(out, self._take, out)

    def add(self, tell: _Tell, answer: _Answer, result: Any, error: BaseException | None) -> None:
        """In a thread."""
        self._work.append((tell, answer, result, error))
        os.write(self._into, b".")

    def _take(self, out: int) -> None:
        for _ in range(len(self._work)):  # what threads do meanwhile is for the next turn: others wait for this one
            os.read(out, 1)  # for each its own, so that one that is interrupted takes no other with it
            tell, answer, result, error = self._work.popleft()
            tell(answer, result, error)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a thread does, and who is told what came of it."""

    done: _Done
    answer: _Answer
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    tell: _Tell

    def do(self) -> None:
        result, error = None, None
        try:
            result = self.function(*self.arguments)
        except BaseException as raised:  # noqa: BLE001  whoever waits gets it
            error = raised
        self.done.add(self.tell, self.answer, result, error)
        del self, error  # the frames of an error keep this one, and all that is in it


class Writers(Executor):
    """For `run_in_executor` of the loop that runs: as many threads as have had work at one time, at most `most`. They
    end once nobody has this any more. Work that finds all of them busy begins once whoever waited for another goes on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads = 0
        self._at_work = 0
        self._waiting: deque[_Work] = deque()
        self._done: _Done | None = None
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        weakref.finalize(self, self._queue.put, None)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Any:
        """A future of the loop, which asyncio hands on as it is: one of threads costs more than the write."""
        loop = asyncio.get_running_loop()
        if self._done is None or self._done.loop is not loop:
            self._done = _Done(loop)
        answer = _Answer(loop=loop)
        work = _Work(self._done, answer, function, arguments, self._tell)
        if self._waiting or self._at_work == self._most:
            self._waiting.append(work)
        else:
            self._begin(work)
        return answer

    def _begin(self, work: _Work) -> None:
        if self._threads == self._at_work:
            Thread(target=_work, args=(self._queue,), name=f"writer-{self._threads}", daemon=True).start()
            self._threads += 1
        self._at_work += 1  # not of work for which the system has no thread
        self._queue.put(work)

    def _tell(self, answer: _Answer, result: Any, error: BaseException | None) -> None:
        self._at_work -= 1
        if not answer.done():  # else whoever waited was cancelled
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)
            answer.told()
        if self._waiting:
            self._begin(self._waiting.popleft())


def _work(queue: SimpleQueue[_Work | None]) -> None:
    while (work := queue.get()) is not None:
        work.do()
        del work  # while it waits for more, a thread keeps nothing
    queue.put(None)  # for the next one
