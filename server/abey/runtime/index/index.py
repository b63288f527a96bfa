"""The index of a running daemon: written behind, checked against the journals before anything is read from it."""

import asyncio
import logging
import stat
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from abey.errors import UnknownSession
from abey.protocol.base import Timestamp
from abey.protocol.journal import Record
from abey.protocol.transcript import Pending
from abey.runtime.index.database import UNKNOWN, Change, Database
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.rows import Found, Row
from abey.runtime.index.schema import Filter
from abey.runtime.index.words import Query
from abey.runtime.live import Live
from abey.runtime.ports import Clock
from abey.runtime.sessions import Sessions
from abey.runtime.store.store import Store

log = logging.getLogger(__name__)

_T = TypeVar("_T")

FLUSH_SECONDS = 1.0
STUDIED = 32
"""Journals that are read before their rows are written, all together."""


@dataclass(slots=True)
class _Dirty:
    """What was recorded of a session since its row was written, after revision `base`."""

    live: Live
    base: int
    records: list[Record]


class Index:
    """No step ever waits for it. What raises IndexFailed can be learnt from the journals instead."""

    def __init__(self, sessions: Sessions, store: Store, clock: Clock, database: Database) -> None:
        self._sessions = sessions
        self._store = store
        self._clock = clock
        self._database = database
        self._dirty: dict[str, _Dirty] = {}
        self._writing = asyncio.Lock()
        self._checking = asyncio.Lock()
        self._later: asyncio.Task[None] | None = None
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        sessions.on_commit = self.changed
        sessions.tokens.find = self.find_tokens

    def changed(self, live: Live, records: tuple[Record, ...]) -> None:
        """These records are durable; their session is written down a little later."""
        dirty = self._dirty.get(live.id)
        if dirty is None:
            if self._database.off:
                return
            dirty = self._dirty[live.id] = _Dirty(live, records[0].rev - 1, [])
        dirty.records += records
        if self._later is None:
            self._later = asyncio.create_task(self._flush_later())

    async def check(self) -> None:
        """From now on every session is in memory or has a row that is right. Raises IndexFailed."""
        await self._to_its_end(self._check())

    async def select(self, wanted: Filter) -> tuple[Found, ...]:
        """The sessions with rows that are wanted, in no order. Raises IndexFailed."""
        return await asyncio.to_thread(self._database.select, wanted)

    async def matching(self, query: Query) -> frozenset[str]:
        """The sessions, in memory or not, in which all words stand. Raises IndexFailed."""
        return await asyncio.to_thread(self._database.matching, query)

    async def rows(self, session_ids: list[str]) -> Mapping[str, Row]:
        """Their rows, as far as they have one. Raises IndexFailed."""
        return await asyncio.to_thread(self._database.rows, session_ids)

    async def tells_all_of(self, session_id: str, pending: Sequence[Pending]) -> bool:
        """Whether its row knows all about these calls of a session: what became of children it does not, nor what an
        uncertain one had printed."""
        if any(call.child_id is not None for call in pending):
            return False
        if all(call.kind != "uncertain" for call in pending):
            return True
        return not await asyncio.to_thread(self._store.has_partials, session_id)

    async def sources(self) -> tuple[str, ...]:
        """Every `source` of a row, once. Raises IndexFailed."""
        return await asyncio.to_thread(self._database.sources)

    async def of_source(self, source: str) -> tuple[str, ...]:
        """The sessions whose rows have that `source`. Raises IndexFailed."""
        return await asyncio.to_thread(self._database.of_source, source)

    async def find_tokens(self, beginning: str) -> Mapping[str, str]:
        """Tokens that begin so, with their sessions: enough of them to tell whether only one does."""
        try:
            await self.check()
            return await asyncio.to_thread(self._database.tokens, beginning) if beginning.isascii() else {}
        except IndexFailed:
            await self._sessions.all()
            return {}

    async def close(self) -> None:
        """Writes down what is not yet; the sessions take no events any more."""
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(IndexFailed):  # it was told, and the next daemon reads the journals
            await self._flush()
        await asyncio.to_thread(self._database.close)

    async def _flush_later(self) -> None:
        await self._clock.sleep(FLUSH_SECONDS)
        self._later = None
        with suppress(IndexFailed):  # it was told, and whoever lists finds what has no row
            await self._to_its_end(self._flush())

    async def _flush(self) -> None:
        async with self._writing:
            dirty, self._dirty = self._dirty, {}
            await self._put([(one.live, one.base, tuple(one.records)) for one in dirty.values()])

    async def _check(self) -> None:
        async with self._checking:
            await self._flush()
            now = self._clock.now()
            ids = await asyncio.to_thread(self._differing, now)
            async with self._writing:
                known = [live for live in map(self._sessions.peek, ids) if isinstance(live, Live)]
                await self._put([(live, None, ()) for live in known])
            unknown = [one for one in ids if self._sessions.peek(one) is None]
            for start in range(0, len(unknown), STUDIED):
                if self._closed:
                    raise IndexFailed("the daemon ends")
                await self._study(unknown[start : start + STUDIED])

    async def _study(self, session_ids: list[str]) -> None:
        """Rows for sessions that are not in memory; one that can have none is loaded and stays."""
        found: list[Change] = []
        for session_id in session_ids:
            with suppress(UnknownSession):  # it went while we looked
                change = await self._studied(session_id)
                found += [change] if change else []
        await asyncio.to_thread(self._database.put, found, self._clock.now())

    async def _studied(self, session_id: str) -> Change | None:
        async with self._sessions.away(session_id) as entry:
            if entry is None:
                entry = await self._sessions.study(session_id)
                if isinstance(entry, Live) and not entry.lost:
                    entry.journal.close()
                    stamp = await asyncio.to_thread(self._stamp, session_id, entry.journal.size)
                    if stamp != UNKNOWN:
                        return Change(entry.machine.session, stamp)
                    entry = await self._sessions.study(session_id)
                self._sessions.keep(session_id, entry)
            return Change(entry.machine.session, UNKNOWN) if isinstance(entry, Live) else None

    async def _put(self, changes: list[tuple[Live, int | None, tuple[Record, ...]]]) -> None:
        """Rows for sessions in memory, as they are at this moment."""
        seen = [(live.machine.session, _settled_size(live), base, records) for live, base, records in changes]
        now = self._clock.now()

        def write() -> None:
            found = [
                Change(session, UNKNOWN if size is None else self._stamp(session.id, size), base, records)
                for session, size, base, records in seen
            ]
            self._database.put(found, now)

        if seen:
            await asyncio.to_thread(write)

    def _differing(self, now: Timestamp) -> tuple[str, ...]:
        return self._database.differing({one: self._stamp(one) for one in self._store.ids()}, now)

    def _stamp(self, session_id: str, size: int | None = None) -> str:
        """What tells whether the journal is as it was; UNKNOWN where that cannot be told, or it has another size."""
        try:
            found = self._store.journal_status(session_id)
        except OSError:
            return UNKNOWN
        if not stat.S_ISREG(found.st_mode) or size not in (None, found.st_size):
            return UNKNOWN
        return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}"

    async def _to_its_end(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Whoever asked may give up waiting; the work goes on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)


def _settled_size(live: Live) -> int | None:
    """The size of the journal that tells what is in memory of the session; None where none does: it is being written
    to and ahead, or what a blob had is lost and may come back."""
    end = live.journal.end
    return end.size if end.revision == live.machine.session.revision and not live.lost else None
