"""Threads of their own for files that others keep: a disk that hangs keeps from working only who asks for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from abey.errors import DaemonDraining

THREADS = 32

P = ParamSpec("P")
R = TypeVar("R")


class Aside:
    """Journals are written in the event loop's own threads, which are never lent to workspaces."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "agent-files")
        self._is_closed = False

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `function` returns or raises, in a thread; whoever is cancelled no longer waits for it. Raises
        DaemonDraining once it is closed."""
        if self._is_closed:
            raise DaemonDraining("the daemon is about to end; try again in a moment")
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Nothing more begins; what runs is not waited for."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
