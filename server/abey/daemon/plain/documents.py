"""Which sessions have documents, and when they are written: a moment after a change, off the loop, one at a time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from abey.daemon.plain.memos import Memo
from abey.daemon.plain.pages import Pages
from abey.daemon.plain.papers import Papers
from abey.errors import AbeyError, UnknownSession
from abey.language.sessions.names import Name
from abey.language.sessions.page import Waiting

log = logging.getLogger(__name__)

COALESCE_SECONDS = 0.1

T = TypeVar("T")

Gone = Callable[[Sequence[Name]], None]
Written = Callable[[str], None]
Exists = Callable[[str], bool]


class Documents:
    """A session has documents from when somebody opened it on; of all others nothing is written."""

    def __init__(self, pages: Pages, papers: Papers, exists: Exists, seconds: float = COALESCE_SECONDS) -> None:
        """`exists` says, and blocks for it, whether there is a session of that id."""
        self._pages = pages
        self._papers = papers
        self._exists = exists
        self._seconds = seconds
        self._opened: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._due: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turn = asyncio.Lock()
        """Of what follows sessions by itself: it never takes more than one of the threads that write journals."""
        self._reading: asyncio.Task[None] | None = None
        self.on_gone: Gone = lambda _: None
        """These documents are about nothing any more, and were removed."""
        self.on_written: Written = lambda _: None
        """What is said of the documents of this session may have changed."""

    def path(self, name: Name) -> Path:
        return self._pages.folder / str(name)

    def start(self) -> None:
        """Looks for documents of an earlier daemon; those of sessions that are no more are removed."""
        self._reading = asyncio.create_task(self._sweep())

    def changed(self, session_id: str) -> None:
        """The session is not as it was. Its documents are written soon, if it has any; however often this is said."""
        if session_id not in self._due and self._may_have(session_id):
            self._due.add(session_id)
            self._begun(self._soon(session_id))

    async def open(self, session_id: str, sent: str = "") -> Path:
        """Writes the documents of the session now; from now on they follow it. Where `sent` is what the user's part of
        the file says, it is emptied. Raises UnknownSession, SessionDamaged, RecordFailed."""
        await asyncio.shield(self._begun(self._write(session_id, sent)))
        return self.path(Name(session_id))

    async def settle(self, session_id: str) -> None:
        """Writes its documents now, if it has any."""
        if session_id in self._opened:
            await asyncio.shield(self._begun(self._follow(session_id)))

    async def memo(self, name: Name) -> Memo | None:
        return await asyncio.to_thread(self._papers.memo, name)

    async def renew(self, waiting: Waiting) -> None:
        await asyncio.shield(self._begun(self._renew(waiting)))

    async def text(self, name: Name) -> str | None:
        """What was saved last."""
        return await asyncio.to_thread(self._papers.text, name)

    async def close(self) -> None:
        """Writes what is due."""
        await asyncio.gather(*self._tasks, *([self._reading] if self._reading else []), return_exceptions=True)

    async def _soon(self, session_id: str) -> None:
        """Of many sessions that change at once, one follows the other; what changes until its turn is written once."""
        await asyncio.sleep(self._seconds)
        if self._reading is not None:
            await asyncio.shield(self._reading)
        async with self._turn:
            self._due.discard(session_id)
            await self.settle(session_id)

    async def _write(self, session_id: str, sent: str) -> None:
        async with self._lock(session_id):
            page = await self._pages.read(session_id)
            self._opened.add(session_id)
            gone = await asyncio.to_thread(self._papers.write, page, sent)
        self._told(session_id, gone)

    async def _renew(self, waiting: Waiting) -> None:
        async with self._lock(waiting.pending.session_id):
            await asyncio.to_thread(self._papers.renew, waiting)

    async def _follow(self, session_id: str) -> None:
        try:
            await self._write(session_id, "")
        except UnknownSession:
            await self._remove(session_id)
        except AbeyError as error:
            log.warning("the documents of session %s are not written: %s", session_id, error.message)

    async def _remove(self, session_id: str) -> None:
        """What cannot be removed stays until a daemon starts again."""
        self._opened.discard(session_id)
        async with self._lock(session_id):
            try:
                gone = await asyncio.to_thread(self._papers.remove, session_id)
            except AbeyError as error:
                log.warning("the documents of session %s are not removed: %s", session_id, error.message)
                return
        self._told(session_id, gone)

    async def _sweep(self) -> None:
        try:
            await asyncio.to_thread(self._papers.sweep)
            found = await asyncio.to_thread(self._papers.sessions)
            for session_id in found:
                if await asyncio.to_thread(self._exists, session_id):
                    self._opened.add(session_id)
                else:
                    await self._remove(session_id)
        except AbeyError as error:
            log.warning("the documents of earlier daemons are left as they are: %s", error.message)

    def _may_have(self, session_id: str) -> bool:
        return session_id in self._opened or (self._reading is not None and not self._reading.done())

    def _told(self, session_id: str, gone: Sequence[Name]) -> None:
        if gone:
            self.on_gone(gone)
        self.on_written(session_id)

    def _begun(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """It goes on to its end though nobody waits any more: a thread that writes is never left without its lock."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _lock(self, session_id: str) -> asyncio.Lock:
        """Held by those who are about to write, and by nobody else."""
        return self._locks.setdefault(session_id, asyncio.Lock())
