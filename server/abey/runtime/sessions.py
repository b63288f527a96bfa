"""The sessions of a state directory: loaded from their journals when somebody asks for them, then kept in memory."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from abey.core.agent import Agent
from abey.core.edits import IllegalRecord
from abey.core.machine import Machine
from abey.core.replay import apply, recover
from abey.core.session import Session
from abey.errors import AbeyError, InvalidState, SessionDamaged, UnknownSession, UnknownToken
from abey.protocol.journal import CallDecided, Record
from abey.protocol.session import Damage
from abey.runtime.agents.versions import Versions
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.ports import Clock
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Broken:
    """A session that can only be looked at: what is wrong, and the machine up to there, if there is one."""

    damage: Damage
    machine: Machine | None = None


Entry = Live | Broken

TOKEN_PREFIX = 8
"""A shorter beginning of a token is too easy to hit by chance."""


class Sessions:
    """One damaged session never hides or stops another: it is an entry of its own."""

    def __init__(self, store: Store, versions: Versions, clock: Clock) -> None:
        self._store = store
        self._versions = versions
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._tokens: dict[str, str] = {}
        self._coming: dict[str, asyncio.Future[Entry | None]] = {}
        self._reopening = asyncio.Lock()
        self.on_load: Callable[[Live], None] = lambda _: None

    @property
    def loaded(self) -> tuple[Live, ...]:
        return tuple(entry for entry in self._entries.values() if isinstance(entry, Live))

    async def get(self, session_id: str) -> Live:
        """The session. Raises UnknownSession, SessionDamaged."""
        entry = self._entries.get(session_id) or await self._load(session_id)
        if isinstance(entry, Broken):
            raise _damaged(entry.damage)
        return entry

    async def look(self, session_id: str) -> tuple[Machine, Damage | None]:
        """The session to be read only, as far as it can be. Raises UnknownSession, SessionDamaged."""
        entry = self._entries.get(session_id) or await self._load(session_id)
        if isinstance(entry, Live):
            return entry.machine, None
        if entry.machine is None:
            raise _damaged(entry.damage)
        return entry.machine, entry.damage

    async def all(self) -> tuple[tuple[Live, ...], tuple[Broken, ...]]:
        """Every session and every damaged one, oldest first."""
        for session_id in await asyncio.to_thread(self._store.ids):
            with suppress(UnknownSession):  # it went, or its creation failed, while we looked
                if session_id not in self._entries:
                    await self._load(session_id)
        live = sorted(self.loaded, key=lambda one: (one.machine.session.created_at, one.id))
        broken = [entry for entry in self._entries.values() if isinstance(entry, Broken)]
        return tuple(live), tuple(sorted(broken, key=lambda one: one.damage.session_id))

    async def of_token(self, token: str) -> tuple[Live, str]:
        """The session that issued this token, and the token whole: a unique beginning of it will do, also of one
        that was answered long ago. Raises UnknownToken."""
        if token not in self._tokens:
            await self.all()
        whole = [token] if token in self._tokens else self._beginning_with(token)
        if len(whole) != 1:
            found = f"{len(whole)} calls have tokens that begin with" if whole else "no call has the token"
            raise UnknownToken(f"{found} {token}", token=token)
        return await self.get(self._tokens[whole[0]]), whole[0]

    def _beginning_with(self, prefix: str) -> list[str]:
        return [token for token in self._tokens if token.startswith(prefix)] if len(prefix) >= TOKEN_PREFIX else []

    async def create(self, session_id: str, make: Callable[[], Awaitable[Live]]) -> Live:
        """The session that `make` makes; nobody loads its journal meanwhile. Raises InvalidState if it exists."""
        if session_id in self._entries or session_id in self._coming:
            raise InvalidState(f"session {session_id} exists", sessionId=session_id)
        coming: asyncio.Future[Entry | None] = asyncio.get_running_loop().create_future()
        self._coming[session_id] = coming
        try:
            live = await make()
        except BaseException:
            coming.set_result(None)  # who waits looks at the disk: there may be a session of that id
            raise
        else:
            coming.set_result(live)
            self._entries[session_id] = live
            return live
        finally:
            del self._coming[session_id]

    def issued(self, live: Live, records: tuple[Record, ...]) -> None:
        """Remembers whose the tokens are that these records issue."""
        for record in records:
            if isinstance(record.data, CallDecided):
                self._tokens[record.data.token] = live.id

    async def reopen(self, session_id: str) -> tuple[Live, bool]:
        """The session, read again if a write failed or it was damaged, and whether it was. Raises as `get`, and
        RecordFailed."""
        async with self._reopening:
            entry = self._entries.get(session_id) or await self._load(session_id)
            if isinstance(entry, Live) and entry.failure is None:
                return entry, False
            if isinstance(entry, Live):
                entry.journal.close()
                await asyncio.to_thread(self._store.reopen, session_id, self._clock.now())
            self._entries.pop(session_id, None)
            return await self.get(session_id), True

    async def _load(self, session_id: str) -> Entry:
        while True:
            coming = self._coming.get(session_id)
            if coming is None:
                coming = asyncio.create_task(self._read(session_id))
                self._coming[session_id] = coming
                coming.add_done_callback(lambda _: self._coming.pop(session_id, None))
            entry = await asyncio.shield(coming)
            if entry is not None:
                return entry

    async def _read(self, session_id: str) -> Entry | None:
        try:
            opened = await asyncio.to_thread(self._store.open, session_id, self._clock.now())
        except UnknownSession:
            raise
        except AbeyError as error:
            opened = Damaged(session_id, error.message, None, ())
        entry = self._revived(opened) if isinstance(opened, Opened) else _broken(opened)
        if isinstance(entry, Broken):
            log.warning("session %s is damaged: %s", session_id, entry.damage.reason)
        self._entries[session_id] = entry
        return entry

    def _revived(self, opened: Opened) -> Entry:
        history = EventLog()
        session_id = opened.journal.path.parent.name
        try:
            for unit in opened.units:
                history.add(unit)
        except IllegalRecord as error:
            return _broken(Damaged(session_id, str(error), None, opened.records))
        session = history.session
        if session is None or session.id != session_id:
            return _broken(Damaged(session_id, "the journal is of another session", 0, ()))
        machine = Machine(recover(session))
        try:
            agent: Agent = self._versions.latest(machine.session)
        except AbeyError as error:
            return _broken(Damaged(session_id, error.message, None, opened.records))
        live = Live(machine, opened.journal, history, agent)
        self.issued(live, opened.records)
        self.on_load(live)
        return live


def _broken(found: Damaged) -> Broken:
    """The session as far as its records can be followed."""
    session: Session | None = None
    for record in found.records:
        try:
            session = apply(session, record)
        except IllegalRecord:
            break
    damage = Damage(session_id=found.session_id, reason=found.reason, offset=found.offset)
    return Broken(damage, Machine(recover(session)) if session else None)


def _damaged(damage: Damage) -> SessionDamaged:
    at = "" if damage.offset is None else f" at byte {damage.offset}"
    message = f"session {damage.session_id} is damaged{at}: {damage.reason}"
    where = {} if damage.offset is None else {"offset": damage.offset}
    return SessionDamaged(message, sessionId=damage.session_id, **where)
