"""Sessions go to the trash and come back, and damaged journals are mended: always one session at a time, and always
to the end, whether or not somebody still waits for it.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from abey.core.inputs import refuse_revision, refuse_stale
from abey.core.machine import Machine
from abey.core.session import Session
from abey.errors import AbeyError, InvalidState, SessionBusy, SessionDamaged, UnknownSession
from abey.protocol.session import Damage
from abey.runtime.deleting import children_of, refuse_busy, refuse_deletion, refuse_waiting, undecided
from abey.runtime.following import Follower
from abey.runtime.live import Live
from abey.runtime.parking import Parking
from abey.runtime.ports import Ports
from abey.runtime.reviving import Broken, Entry
from abey.runtime.sessions import Sessions
from abey.runtime.store.repairing import Examined, Hopeless, Mendable, Torn, Whole
from abey.runtime.store.trash import Trashed

_T = TypeVar("_T")

NAMED = 10
"""Calls or sessions that an error names."""

ALIKE = 4
"""Sessions whose ids begin with so many characters of another one may be meant by it."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What is wrong with a session, what mends it, whether that was done, and how the kept original is called."""

    found: tuple[str, ...]
    actions: tuple[str, ...]
    applied: bool
    original: str | None = None


class Keeping:
    """Nobody loads or makes a session that is being moved or mended; who holds it then is answered with an error."""

    def __init__(self, ports: Ports, sessions: Sessions, parking: Parking) -> None:
        self._ports = ports
        self._store = ports.store
        self._sessions = sessions
        self._parking = parking
        self._tasks: set[asyncio.Task[Any]] = set()

    async def delete(self, session_id: str, if_revision: int | None = None, *, force: bool) -> None:
        """Moves the session to the trash. Raises UnknownSession, RevisionConflict, SessionBusy, InvalidState where
        calls wait or nobody can tell (not with `force`), RecordFailed."""
        await self._to_its_end(self._delete(session_id, if_revision, force))

    async def restore(self, session_id: str, if_revision: int | None = None) -> tuple[Machine, Damage | None]:
        """Brings back the session of this id that was deleted last. Raises InvalidState where the id is in use,
        UnknownSession where the trash has none, RevisionConflict, RecordFailed; SessionDamaged: it is back, and cannot
        be read."""
        await self._to_its_end(self._restore(session_id, if_revision))
        try:
            machine, damage = await self._sessions.look(session_id)
        except SessionDamaged as error:
            message = f"session {session_id} is back from the trash, and cannot be shown: {error.message}"
            raise SessionDamaged(message, **error.details) from None
        if damage is None:
            self._ports.listener.changed(machine)
        return machine, damage

    async def trashed(self) -> tuple[Trashed, ...]:
        """Every deleted session that is still there. Raises RecordFailed where the trash cannot be read."""
        return await asyncio.to_thread(self._store.trashed)

    async def examine(self, session_id: str) -> Repair:
        """What `repair` would do; not one byte is changed. Raises UnknownSession."""
        entry = self._sessions.peek(session_id)
        if not isinstance(entry, Live):
            return _shown(await self._examined(session_id, entry))
        async with entry.lock:
            return _failed(entry) or _shown(await self._examined(session_id, entry))

    async def repair(self, session_id: str, if_revision: int | None = None) -> Repair:
        """Mends the session, if there is something to mend. Raises UnknownSession, SessionBusy, RevisionConflict,
        RecordFailed, SessionDamaged where nothing can be mended."""
        done = await self._to_its_end(self._repair(session_id, if_revision))
        if done.applied:
            with suppress(SessionDamaged):  # something else than its journal keeps it from opening
                machine, damage = await self._sessions.look(session_id)
                if damage is None:
                    self._ports.listener.changed(machine)
        return done

    async def close(self) -> None:
        """Waits for what is being moved or mended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _to_its_end(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _delete(self, session_id: str, if_revision: int | None, force: bool) -> None:
        await self._sessions.entry(session_id)
        async with self._sessions.away(session_id) as entry:
            match entry:
                case Live():
                    async with entry.lock:
                        refuse_stale(entry.machine.session, if_revision)
                        refuse_busy(entry.machine)
                        if not force:
                            refuse_waiting(entry.machine.session)
                        await self._delete_children(entry.machine.session, force)
                        entry.journal.park()
                        await self._move_away(session_id, entry)
                case Broken() if not force:
                    raise undecided(entry)
                case Broken(machine=machine):
                    if machine is not None:
                        refuse_stale(machine.session, if_revision)
                    await self._move_away(session_id, entry)
                case None:
                    raise UnknownSession(f"no session {session_id}", sessionId=session_id)

    async def _delete_children(self, session: Session, force: bool) -> None:
        """None of them goes unless all can; whoever begins another one meanwhile is refused."""
        children = await children_of(self._sessions, session)
        for child in children:
            refuse_deletion(child, force=force)
        for child in children:
            with suppress(UnknownSession):  # it went meanwhile
                await self._delete(child.id, None, force)

    async def _move_away(self, session_id: str, entry: Entry) -> None:
        try:
            await asyncio.to_thread(self._store.delete, session_id, self._ports.clock.now())
        finally:
            # a move that could not be made durable may have been made all the same
            if not self._store.exists(session_id):
                error = UnknownSession(f"session {session_id} was deleted", sessionId=session_id)
                await self._let_go(session_id, entry, error)
                if entry.machine is not None:
                    self._ports.children.gone(entry.machine.session)
                    self._ports.listener.gone(entry.machine)

    async def _let_go(self, session_id: str, entry: Entry | None, error: AbeyError) -> None:
        self._sessions.forget(session_id)
        if isinstance(entry, Live):
            entry.dismiss(error)
            self._parking.forget(entry)
            await self._ports.kept_open.release(session_id)

    async def _restore(self, session_id: str, if_revision: int | None) -> None:
        async with self._sessions.away(session_id):
            trashed = await asyncio.to_thread(self._store.trashed)
            found = [one for one in trashed if one.session_id == session_id]
            if self._store.exists(session_id):
                message = f"session {session_id} exists; delete it first to have the one in the trash back"
                raise InvalidState(message if found else f"session {session_id} exists", sessionId=session_id)
            if not found:
                raise _not_in_the_trash(session_id, [one.session_id for one in trashed])
            if if_revision is not None:
                refuse_revision(session_id, await asyncio.to_thread(self._store.revision_of, found[-1]), if_revision)
            await asyncio.to_thread(self._store.restore, found[-1])

    async def _examined(self, session_id: str, entry: Entry | None) -> Examined:
        found = await asyncio.to_thread(self._store.examine, session_id, Follower(session_id).take)
        if isinstance(found, Whole) and isinstance(entry, Broken):
            return Whole((*found.found, f"what keeps the session from opening is not in it: {entry.damage.reason}"))
        return found

    async def _repair(self, session_id: str, if_revision: int | None) -> Repair:
        if if_revision is not None:
            await self._sessions.entry(session_id)
        async with self._sessions.away(session_id) as entry:
            if entry is not None and entry.machine is not None:
                refuse_stale(entry.machine.session, if_revision)
            if not isinstance(entry, Live):
                return await self._mended(session_id, entry)
            async with entry.lock:
                if (failed := _failed(entry)) is not None:
                    return failed
                refuse_busy(entry.machine)
                return await self._mended(session_id, entry)

    async def _mended(self, session_id: str, entry: Entry | None) -> Repair:
        found = await self._examined(session_id, entry)
        match found:
            case Hopeless():
                raise SessionDamaged(f"session {session_id}: {found.found[0]}; {found.advice}", sessionId=session_id)
            case Whole():
                return _shown(found)
            case Mendable():
                await asyncio.to_thread(self._store.repair, session_id, found, self._ports.clock.now())
            case Torn():
                pass  # the next one who loads the session does it
        error = SessionBusy(f"session {session_id} was mended just now; ask again", sessionId=session_id)
        await self._let_go(session_id, entry, error)
        original = found.original.name if isinstance(found, Mendable) else None
        return Repair(found.found, found.actions, True, original)


def _shown(found: Examined) -> Repair:
    match found:
        case Whole():
            return Repair(found.found, (), False)
        case Hopeless():
            return Repair((*found.found, found.advice), (), False)
        case Mendable():
            return Repair(found.found, found.actions, False, found.original.name)
        case Torn():
            return Repair(found.found, found.actions, False)


def _failed(live: Live) -> Repair | None:
    """A session that only failed a write needs no mending."""
    if live.failure is None:
        return None
    way_out = f"`abey session reopen {live.id}` (agents/reopen) loads it again once the cause is gone"
    return Repair((f"the session stopped taking requests: {live.failure.message}", way_out), (), False)


def _not_in_the_trash(session_id: str, trashed: Sequence[str]) -> UnknownSession:
    alike = [one for one in dict.fromkeys(trashed) if one.startswith(session_id[:ALIKE])][:NAMED]
    named = f"; it has {', '.join(alike)}" if alike else ""
    return UnknownSession(f"the trash has no session {session_id}{named}", sessionId=session_id, trashed=alike)
