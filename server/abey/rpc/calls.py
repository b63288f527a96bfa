"""The requests of one client that wait for their answers."""

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol

from abey.errors import AbeyError, Overloaded
from abey.rpc.faults import InvalidRequest, RequestCancelled, RpcFault

RETRY_AFTER_MS = 250


class Work(Protocol):
    """Awaited once, for the encoded result of a request; a coroutine is one. `close` also where it never was."""

    def __await__(self) -> Generator[Any, Any, bytes]: ...

    def close(self) -> None: ...


Ended = Callable[[bytes | BaseException], None]
"""Told once how a request ended: with its encoded result, in the moment in which it is there, or with a failure."""

_NeverBegun = Callable[[asyncio.Task[None]], None]


class Calls:
    """At most `limit` at a time. Each ends once: with a result, a failure, or the fault that `_cancelled` holds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._cancelled: RpcFault | AbeyError = RequestCancelled("the request was cancelled")

    def __contains__(self, request_id: int | str) -> bool:
        return request_id in self._tasks

    def admit(self) -> None:
        """Raises Overloaded when there is no room for one more."""
        if len(self._tasks) >= self._limit:
            raise Overloaded(f"{self._limit} requests of this client are in flight", retryAfterMs=RETRY_AFTER_MS)

    def start(self, request_id: int | str, work: Work, ended: Ended) -> None:
        """Runs `work` from the next turn of the loop on: requests begin in the order in which they came."""
        if request_id in self._tasks:
            raise InvalidRequest("a request with this id is in flight")
        never_begun = partial(self._never_begun, request_id, work, ended)
        task = self._tasks[request_id] = asyncio.create_task(self._answered(request_id, work, ended, never_begun))
        task.add_done_callback(never_begun)

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

    async def _answered(self, request_id: int | str, work: Work, ended: Ended, never_begun: _NeverBegun) -> None:
        """Nothing comes between the work and its answer: who attached hears what happens afterwards, afterwards."""
        self._tasks[request_id].remove_done_callback(never_begun)
        try:
            ended(await work)
        except asyncio.CancelledError:
            ended(self._cancelled)
        except Exception as error:  # noqa: BLE001  every request is answered, whatever fails
            ended(error)
        finally:
            del self._tasks[request_id]  # not by a callback, which would be another turn of the loop

    def _never_begun(self, request_id: int | str, work: Work, ended: Ended, _: asyncio.Task[None]) -> None:
        """It was cancelled before."""
        del self._tasks[request_id]
        work.close()
        ended(self._cancelled)
