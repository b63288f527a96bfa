"""Notices within a second that agent files changed, however an editor saves them (agent-file.md, Where it is found).

watchfiles says so at once where it can. It sees nothing of a symlink's target, of a folder that was replaced, or
without inotify watches to spare; so what counts is the stamps of the files, which are looked at again and again, too.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
QUIET_SECONDS = 0.05
"""A burst of saves is one change: it is over when nothing has changed for so long."""
MOST_QUIETS = 8
"""A burst that does not end is told of in between."""
STEP_MILLIS = 20

Watch = Callable[[tuple[Path, ...]], AsyncIterator[Any]]
Folders = Mapping[Path, Hashable]
"""Folders that exist, each with what tells it from another one of the same name."""


async def watch_folders(folders: tuple[Path, ...]) -> AsyncIterator[Any]:
    """A Watch: yields soon after something in one of the folders changed, not deeper. Raises OSError."""
    from watchfiles import awatch  # a daemon that starts answers first

    async for changes in awatch(*folders, watch_filter=None, step=STEP_MILLIS, debounce=200, recursive=False):
        yield changes


class Watching:
    """`stamps` is a value that differs whenever a file may have changed, `folders` where files are or may appear;
    `changed` is awaited after a first look, and after each change."""

    def __init__(
        self,
        stamps: Callable[[], Hashable],
        folders: Callable[[], Folders],
        changed: Callable[[], Awaitable[None]],
        watch: Watch = watch_folders,
    ) -> None:
        self._stamps = stamps
        self._folders = folders
        self._changed = changed
        self._watch = watch
        self._hint = asyncio.Event()
        self._watched: Folders = {}
        self._watcher: asyncio.Task[None] | None = None
        self._complained = False

    async def run(self) -> None:
        """Until it is cancelled."""
        last: Hashable = None
        try:
            while True:
                await self._watch_what_is_there()
                await self._hinted_or_time_over()
                now = self._stamps()
                if now != last:
                    last = await self._quiet(now)
                    await self._changed()
        finally:
            await self._stop_watching()

    async def _watch_what_is_there(self) -> None:
        folders = self._folders()
        if folders != self._watched:
            await self._stop_watching()
            self._watched = folders
            self._watcher = asyncio.create_task(self._pass_hints(tuple(folders))) if folders else None

    async def _pass_hints(self, folders: tuple[Path, ...]) -> None:
        try:
            async for _ in self._watch(folders):
                self._hint.set()
        except OSError as error:
            if not self._complained:
                log.warning("agent files cannot be watched: %s; they are looked at every %g s", error, LOOK_SECONDS)
            self._complained = True

    async def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)

    async def _hinted_or_time_over(self) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._hint.wait()
        except TimeoutError:
            return
        self._hint.clear()

    async def _quiet(self, now: Hashable) -> Hashable:
        for _ in range(MOST_QUIETS):
            before = now
            await asyncio.sleep(QUIET_SECONDS)
            now = self._stamps()
            if now == before:
                break
        return now
