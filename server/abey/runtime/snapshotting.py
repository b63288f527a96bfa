"""Writes snapshots behind: no step waits for one, and one that fails costs nothing (journal.md, Snapshots)."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress

from abey.errors import AbeyError
from abey.runtime.live import Kept, Live
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.store import Store

LEAST_BYTES = 4 << 20
"""A snapshot is due once the journal since the last one has more bytes than these and than that snapshot."""

LEAVING_BYTES = 256 << 10
"""The same when the session rests or the daemon ends, and a quarter of that snapshot: what was in use shall open
quickly the next time."""

LEAVING_SECONDS = 2.0
"""No snapshot is begun later than this after the end has begun."""

log = logging.getLogger(__name__)


class Snapshotting:
    """One snapshot at a time, of whichever session; on the event loop, the writing itself in a thread."""

    def __init__(self, store: Store, least: int = LEAST_BYTES, leaving: int = LEAVING_BYTES) -> None:
        self._store = store
        self._least = least
        self._leaving = leaving
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._closed = False

    def committed(self, live: Live) -> None:
        """Begins a snapshot where one is due. Nobody writes to the journal meanwhile, and the log has what it has."""
        if _grown(live) > max(self._least, live.kept.size):
            self._begin(live)

    def rest(self, live: Live) -> None:
        """The session leaves memory, or stays there until it is written, if it has grown enough for that."""
        if self._has_grown(live):
            self._begin(live)

    async def settle(self, session_id: str) -> None:
        """Returns when no snapshot of that session is being written."""
        if session_id in self._tasks:
            await asyncio.wait([self._tasks[session_id]])

    async def leave(self, sessions: Iterable[Live]) -> None:
        """As `close`, after a snapshot of each session that has grown enough, as long as there is time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_SECONDS):
                for live in sorted(sessions, key=_grown, reverse=True):
                    await self.settle(live.id)
                    if self._has_grown(live):
                        self._begin(live)
                        await self.settle(live.id)
        await self.close()

    async def close(self) -> None:
        """Returns when nothing is being written; what only waits for its turn is given up."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _has_grown(self, live: Live) -> bool:
        """Enough for a snapshot of a session that nobody works on now."""
        return _grown(live) > max(self._leaving, live.kept.size // 4)

    def _begin(self, live: Live) -> None:
        session = live.log.session
        # what is lost may be put back, and a snapshot would go on without it
        if session is None or live.failure is not None or live.lost or self._closed or live.id in self._tasks:
            return
        snapshot = Snapshot(session, live.journal.end, live.journal.hash, live.log.next_seq)
        self._tasks[live.id] = asyncio.create_task(self._write(live, snapshot))

    async def _write(self, live: Live, snapshot: Snapshot) -> None:
        size = live.kept.size
        try:
            async with self._turn:
                if not self._closed and live.failure is None:
                    size = await asyncio.to_thread(self._store.save_snapshot, snapshot)
        except (AbeyError, OSError, ValueError, RecursionError) as error:
            log.warning("session %s has no snapshot of revision %d: %s", live.id, snapshot.end.revision, error)
        finally:
            # also after a failure: the next try is as far away as after a success
            live.kept = Kept(snapshot.end.size, size)
            del self._tasks[live.id]


def _grown(live: Live) -> int:
    """Bytes of the journal since the last snapshot."""
    return live.journal.end.size - live.kept.end
