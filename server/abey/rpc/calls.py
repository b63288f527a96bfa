"""The requests of one client that wait for their answers."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from abey.errors import AbeyError, Overloaded
from abey.rpc.faults import InvalidRequest, RequestCancelled, RpcFault

RETRY_AFTER_MS = 250

Ended = Callable[[bytes | BaseException], None]
"""Told once how a request ended: with its encoded result, or with a failure."""


class Calls:
    """At most `limit` at a time. Each ends once: with a result, a failure, or the fault that `_cancelled` holds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tasks: dict[int | str, asyncio.Task[bytes]] = {}
        self._cancelled: RpcFault | AbeyError = RequestCancelled("the request was cancelled")

    def __contains__(self, request_id: int | str) -> bool:
        return request_id in self._tasks

    def admit(self) -> None:
        """Raises Overloaded when there is no room for one more."""
        if len(self._tasks) >= self._limit:
            raise Overloaded(f"{self._limit} requests of this client are in flight", retryAfterMs=RETRY_AFTER_MS)

    def start(self, request_id: int | str, work: Coroutine[Any, Any, bytes], ended: Ended) -> None:
        """Runs `work`; requests start in the order in which they came."""
        if request_id in self._tasks:
            raise InvalidRequest("a request with this id is in flight")
        task = asyncio.create_task(work)
        self._tasks[request_id] = task
        task.add_done_callback(partial(self._finish, request_id, ended))

    def cancel(self, request_id: int | str) -> None:
        """Ends the wait of a request; one that is not, or no longer, in flight stays as it is."""
        if task := self._tasks.get(request_id):
            task.cancel()

    async def settle(self, seconds: float) -> None:
        """Waits until none is left, at most `seconds`."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)

    def end(self, why: RpcFault | AbeyError) -> None:
        """Ends every wait; those requests are answered with `why`."""
        self._cancelled = why
        for task in self._tasks.values():
            task.cancel()

    def _finish(self, request_id: int | str, ended: Ended, task: asyncio.Task[bytes]) -> None:
        del self._tasks[request_id]
        if task.cancelled():
            ended(self._cancelled)
        else:
            ended(task.exception() or task.result())
