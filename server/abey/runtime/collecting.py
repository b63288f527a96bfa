"""Goes through the state directory for what can be spared, and lets it go; each session in a quiet moment of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from abey.core.session import Session
from abey.errors import AbeyError
from abey.runtime import retention
from abey.runtime.live import Live
from abey.runtime.partials import wanted
from abey.runtime.peeking import peek
from abey.runtime.ports import Clock
from abey.runtime.retention import Garbage
from abey.runtime.reviving import Broken
from abey.runtime.sessions import Sessions
from abey.runtime.store.io import FileIO

log = logging.getLogger(__name__)

Delete = Callable[[str, int], Awaitable[None]]
"""Moves a session, if it still is at that revision, to the trash. Raises AbeyError where it must stay."""


class Collector:
    """One collection at a time. What cannot be looked at, or removed, stays, and the log says so."""

    def __init__(self, state: Path, io: FileIO, sessions: Sessions, clock: Clock, delete: Delete) -> None:
        self._state = state
        self._io = io
        self._sessions = sessions
        self._clock = clock
        self._delete = delete
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[tuple[Garbage, ...]]] = set()
        self._closed = False

    async def look(self) -> tuple[Garbage, ...]:
        """What `collect` would let go now; changes nothing."""
        return await self._to_its_end(_Look())

    async def collect(self) -> tuple[Garbage, ...]:
        """Lets go what can be spared, and says what went."""
        return await self._to_its_end(_Remove(self._io, self._delete))

    async def close(self) -> None:
        """A collection that goes on ends with the session it is at."""
        self._closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _to_its_end(self, act: "_Act") -> tuple[Garbage, ...]:
        """Whoever asked may give up waiting: no thread must go on without the lock it was started under."""
        task = asyncio.create_task(self._walked(act))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _walked(self, act: "_Act") -> tuple[Garbage, ...]:
        async with self._turn:
            found = await act.files(await self._asked(retention.in_trash, self._state / "trash"))
            found += await act.files(await self._asked(retention.beside_sessions, self._state))
            for directory in await asyncio.to_thread(self._worth_a_look):
                if not self._closed:
                    found += await self._session(directory, act)
            return tuple(found)

    async def _session(self, directory: Path, act: "_Act") -> list[Garbage]:
        async with self._quiet(directory) as session:
            if session is None:
                return []
            spared = await asyncio.to_thread(self._spared, directory, session)
            if spared is None:
                in_session = partial(retention.in_session, unfinished=wanted(session))
                return await act.files(await self._asked(in_session, directory))
        return await act.session(session, spared)

    def _worth_a_look(self) -> list[Path]:
        """The directories of sessions that may have something to spare; nothing is locked."""
        millis = self._millis()
        found = []
        for directory in self._directories():
            with suppress(OSError):  # it went, or cannot be read: then it stays as it is
                old = retention.looks_old(self._io, directory, millis)
                if old or retention.in_session(self._io, directory, millis):
                    found.append(directory)
        return found

    def _directories(self) -> list[Path]:
        folder = self._state / "sessions"
        try:
            return [folder / name for name in sorted(self._io.names(folder))]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("%s could not be looked at: %s", folder, error)
            return []

    @asynccontextmanager
    async def _quiet(self, directory: Path) -> AsyncIterator[Session | None]:
        """The session while nothing changes it; None where it is damaged, has failed, or works, and is left alone."""
        async with self._sessions.away(directory.name) as entry:
            match entry:
                case Broken():
                    yield None
                case Live():
                    async with entry.lock:
                        yield entry.machine.session if _rests(entry) else None
                case None:
                    yield await asyncio.to_thread(self._read, directory)

    def _read(self, directory: Path) -> Session | None:
        peeked = peek(self._io, directory)
        return None if peeked.torn or peeked.damage is not None else peeked.session

    def _spared(self, directory: Path, session: Session) -> Garbage | None:
        """The session as a whole, where it can go. What cannot be looked at stays."""
        millis = self._millis()
        try:
            reason = retention.why_spared(session, millis) if retention.looks_old(self._io, directory, millis) else None
            if reason is None:
                return None
            return Garbage("session", directory, retention.tree_bytes(self._io, directory), reason, session.id)
        except OSError as error:
            log.warning("session %s could not be looked at: %s", session.id, error)
            return None

    async def _asked(self, find: Callable[[FileIO, Path, int], tuple[Garbage, ...]], path: Path) -> tuple[Garbage, ...]:
        try:
            return await asyncio.to_thread(find, self._io, path, self._millis())
        except OSError as error:
            log.warning("%s could not be looked at: %s", path, error)
            return ()

    def _millis(self) -> int:
        return self._clock.millis()


def _rests(live: Live) -> bool:
    """Whether it is well, and nothing runs or is about to run for it."""
    work = live.machine.work
    return live.failure is None and not (live.writing or work.live or work.run or work.promised or work.closing)


class _Act(Protocol):
    """What is done about what was found; it gives back what is told of it."""

    async def files(self, found: Sequence[Garbage]) -> list[Garbage]: ...

    async def session(self, session: Session, spared: Garbage) -> list[Garbage]: ...


class _Look:
    async def files(self, found: Sequence[Garbage]) -> list[Garbage]:
        return list(found)

    async def session(self, _: Session, spared: Garbage) -> list[Garbage]:
        return [spared]


class _Remove:
    """What cannot be removed stays, and is not told."""

    def __init__(self, io: FileIO, delete: Delete) -> None:
        self._io = io
        self._delete = delete

    async def files(self, found: Sequence[Garbage]) -> list[Garbage]:
        return await asyncio.to_thread(lambda: [one for one in found if self._remove(one)])

    async def session(self, session: Session, spared: Garbage) -> list[Garbage]:
        """It goes to the trash, unless it has changed since it was looked at."""
        try:
            await self._delete(session.id, session.revision)
        except AbeyError as error:
            log.info("session %s stays: %s", session.id, error.message)
            return []
        return [spared]

    def _remove(self, garbage: Garbage) -> bool:
        try:
            return retention.remove(self._io, garbage)
        except OSError as error:
            log.warning("%s could not be removed: %s", garbage.path, error)
            return False
