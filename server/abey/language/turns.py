"""Whose turn it is: what a client asks is worked out in a thread, one thing after the other."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from abey.runtime.agents.aside import Aside

P = ParamSpec("P")
R = TypeVar("R")


class Turns:
    """However much one client asks, it keeps one thread busy, and another's first question waits for none of it. What
    nobody waits for any more is never begun; once it has, its client's turn lasts until it has ended."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, client_id: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `function` returns or raises. Raises DaemonDraining."""
        lock = self._locks.setdefault(client_id, asyncio.Lock())
        await lock.acquire()
        work = asyncio.ensure_future(self._aside.run(function, *args, **kwargs))
        work.add_done_callback(lambda _: lock.release())
        return await asyncio.shield(work)
