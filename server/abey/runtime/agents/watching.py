"""Notices within a second that agent files changed, however an editor saves them (agent-file.md, Where it is found).

watchfiles says so at once where it can. It sees nothing of what a link leads to elsewhere, of a folder that was
replaced, or without inotify watches to spare; so the stamps of the files are looked at again and again, too.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from abey.runtime.agents.aside import Aside

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.8
QUIET_SECONDS = 0.05
"""A burst of saves is one change: it is over when nothing has changed for so long."""
MOST_QUIETS = 8
"""A burst that does not end is told of in between."""
SETTLE_SECONDS = 3.0
"""So long after a change the files themselves count at every look: their stamps may hide another one of them."""
MOST_WATCHED = 64
"""Folders beyond the first ones are looked at only."""
STEP_MILLIS = 250
"""The thread that waits for the kernel wakes up so often, also where nothing happens."""

Watch = Callable[[tuple[Path, ...]], AsyncIterator[Any]]
Folders = Mapping[Path, Hashable]
"""Folders that exist, each with what tells it from another one of the same name."""


async def watch_folders(folders: tuple[Path, ...]) -> AsyncIterator[Any]:
    """A Watch: yields soon after something in one of the folders changed, not deeper. Raises OSError."""
    from watchfiles import awatch  # a daemon that starts answers first

    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it has a line for every event
    async for changes in awatch(*folders, watch_filter=None, step=STEP_MILLIS, debounce=200, recursive=False):
        yield changes


class Watching:
    """`stamps` is a value that differs whenever a file may have changed, `folders` where files are or may appear, the
    most important ones first; both are called `aside`. `changed` is awaited after a first look, after each change,
    and after each hint that something may have changed: it finds out what did."""

    def __init__(
        self,
        stamps: Callable[[], Hashable],
        folders: Callable[[], Folders],
        changed: Callable[[], Awaitable[None]],
        aside: Aside,
        watch: Watch = watch_folders,
    ) -> None:
        self._stamps = stamps
        self._folders = folders
        self._changed = changed
        self._aside = aside
        self._watch = watch
        self._hint = asyncio.Event()
        self._watched: Folders | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._complained = False
        self._last: Hashable = None
        self._unsettled_until = 0.0

    def hint(self) -> None:
        """Something may have changed: it is looked at now."""
        self._hint.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                try:
                    await self._look()
                except Exception:
                    log.exception("agent files could not be looked at")
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._stop_watching()

    async def _look(self) -> None:
        if self._watched is None:
            await self._watch_these(await self._aside.run(self._folders))
        hinted = await self._hinted_or_time_over()
        folders, now = await self._aside.run(self._seen)
        await self._watch_these(folders)
        time = asyncio.get_running_loop().time()
        if now != self._last:
            self._unsettled_until = time + SETTLE_SECONDS
        elif not hinted and time > self._unsettled_until:
            return
        self._last = await self._quiet(now)
        await self._changed()

    def _seen(self) -> tuple[Folders, Hashable]:
        """In one thread, for an idle daemon does little else than to look."""
        return self._folders(), self._stamps()

    async def _watch_these(self, found: Folders) -> None:
        folders = dict(islice(found.items(), MOST_WATCHED))
        if folders != self._watched:
            await self._stop_watching()
            self._watched = folders
            self._watcher = asyncio.create_task(self._pass_hints(tuple(folders))) if folders else None

    async def _pass_hints(self, folders: tuple[Path, ...]) -> None:
        try:
            async for _ in self._watch(folders):
                self._hint.set()
        except Exception as error:  # noqa: BLE001  whatever ends the watch, files are still looked at
            if not self._complained:
                log.warning("agent files cannot be watched: %s; they are looked at every %g s", error, LOOK_SECONDS)
            self._complained = True

    async def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)

    async def _hinted_or_time_over(self) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._hint.wait()
        except TimeoutError:
            return False
        self._hint.clear()
        return True

    async def _quiet(self, now: Hashable) -> Hashable:
        for _ in range(MOST_QUIETS):
            before = now
            await asyncio.sleep(QUIET_SECONDS)
            now = await self._aside.run(self._stamps)
            if now == before:
                break
        return now
