"""Descriptors that the event loop watches: none is closed while it is watched, so its number can be used again."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

_CHUNK = 64 * 1024


class Inlet:
    """A descriptor that is read as it fills, and owned: what it holds goes to `take`, which gets b"" at its end."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._take = take
        self._open = True
        self._paused = False
        self._ended = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self.read)

    def read(self) -> bool:
        """Reads a chunk, if there is one: whether there may be more."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._ended = True
            self._loop.remove_reader(self._descriptor)
        self._take(data)
        return bool(data)

    def pause(self) -> None:
        """Nothing is read until `resume`, except by `read` itself."""
        if self._open and not self._paused:
            self._paused = True
            self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        if self._open and self._paused:
            self._paused = False
            if not self._ended:
                self._loop.add_reader(self._descriptor, self.read)

    def close(self) -> None:
        """Harmless when it is closed already."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)


class Outlet:
    """A descriptor that is waited for until it takes bytes; it stays its owner's, who ends the waiting first."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._ready = asyncio.Event()
        self._open = True

    async def writable(self) -> None:
        """Waits until bytes can be written, or nobody may any more. One may wait at a time."""
        self._ready.clear()
        if not self._open:
            return
        self._loop.add_writer(self._descriptor, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            if self._open:
                self._loop.remove_writer(self._descriptor)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_writer(self._descriptor)
            self._ready.set()


async def completed(work: asyncio.Future[Any]) -> None:
    """Waits for the end of `work`, however often the caller is cancelled meanwhile: that shows only then.

    Raises what `work` raised, if the caller was not cancelled.
    """
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    work.result()
