"""An event loop in which nothing takes time: no selector, no threads, and a clock that jumps to the next timer.

What a program hands to a thread is done in the loop itself, in a later turn; when it begins and when that is noticed
comes from a seed. Callbacks run in the order in which they came, as asyncio promises. Whatever is hashed by its address
elsewhere is hashed by a number here, so that sets of tasks have the same order every time.
"""

import asyncio
import heapq
import itertools
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

Delays = tuple[float, ...]
"""Of which one is chosen for the beginning of what a thread does, and one for the moment in which that is noticed."""

QUICK: Delays = (0.0, 0.0, 0.0, 0.001, 0.004)


class Died(BaseException):
    """The process that this loop is, is dead: nothing that it was about to do happens."""


class NumberedFuture(asyncio.Future[Any]):
    """A future with a hash that is the same every time."""

    def __init__(self, *, loop: "VirtualLoop") -> None:
        self.number = loop.next_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class NumberedTask(asyncio.Task[Any]):
    """A task with a hash that is the same every time."""

    def __init__(self, work: Any, *, loop: "VirtualLoop", **more: Any) -> None:
        self.number = loop.next_number()
        super().__init__(work, loop=loop, **more)

    def __hash__(self) -> int:
        return self.number


class VirtualLoop(asyncio.AbstractEventLoop):
    """`after` is called after each callback; `faults` are what callbacks and tasks raised that nobody took."""

    def __init__(self, chance: Random, now: float = 0.0) -> None:
        self.after: Callable[[], None] = lambda: None
        self.faults: list[str] = []
        self.turns = 0
        self.dead = False
        self.delays = QUICK
        self._chance = chance
        self._now = now
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = itertools.count()
        self._tasks: list[NumberedTask] = []
        self._is_running = False

    def next_number(self) -> int:
        return next(self._numbers)

    def advance(self, until: Callable[[], bool], seconds: float) -> bool:
        """Goes on until that is true, at most so long, or until nothing would happen any more: whether it is true."""
        deadline = self._now + seconds
        with self.running():
            while not self.dead and not until():
                if not self._ready and not self._jump(deadline):
                    break
                self.turns += 1
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
                    self.after()
        return until()

    def finish(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        """What it comes to. Raises TimeoutError where it takes longer, Died."""
        with self.running():
            task = self.create_task(work)
        if not self.advance(task.done, seconds):
            if self.dead:
                raise Died
            raise TimeoutError(f"not done after {seconds:g} s")
        return task.result()

    def die(self) -> None:
        """Nothing of it happens any more."""
        self.dead = True

    def discard(self) -> None:
        """It is dead; what was about to happen is thrown away."""
        self.die()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for task in self._tasks:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    with suppress(BaseException):
                        task.get_coro().close()  # type: ignore[union-attr]
        self._tasks.clear()
        self._ready.clear()
        self._timers.clear()

    @contextmanager
    def running(self) -> Iterator[None]:
        asyncio._set_running_loop(self)
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = False
            asyncio._set_running_loop(None)

    def _jump(self, deadline: float) -> bool:
        """To the next timer, unless that is later; whether there is one."""
        self._tasks = [one for one in self._tasks if not one.done()]  # nor what came of one is held by this loop
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers or self._timers[0][0] > deadline:
            self._now = max(self._now, deadline)
            return False
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])
        return True

    def time(self) -> float:
        return self._now

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, self.next_number(), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def create_future(self) -> asyncio.Future[Any]:
        return NumberedFuture(loop=self)

    def create_task(self, work: Generator[Any, None, Any] | Coroutine[Any, Any, Any], **more: Any) -> asyncio.Task[Any]:
        task = NumberedTask(work, loop=self, **more)
        self._tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, function: Any, *args: Any) -> asyncio.Future[Any]:
        future, began, noticed = self.create_future(), *self._chance.choices(self.delays, k=2)

        def work() -> None:
            if future.cancelled():  # before a thread was free
                return
            try:
                tell, value = future.set_result, function(*args)
            except Died:
                self.dead = True
                return
            except Exception as error:  # noqa: BLE001  whoever waits gets it
                tell, value = future.set_exception, error
            self.call_later(noticed, lambda: None if future.done() else tell(value))

        self.call_later(began, work)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Died):
            self.dead = True
        elif not self.dead:
            self.faults.append(f"{context['message']}: {error!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return False
