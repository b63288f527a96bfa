"""The sessions of a state directory: loaded from their journals when somebody asks for them, then in memory for as
long as they are in use."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from abey.core.inputs import refuse_stale
from abey.core.machine import Machine
from abey.core.session import Session
from abey.core.waiting import issued_tokens
from abey.errors import InvalidState, SessionDamaged, UnknownSession
from abey.protocol.journal import CallDecided, Record
from abey.protocol.session import Damage
from abey.runtime.agents.versions import Versions
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.loading import Loading
from abey.runtime.ports import Clock
from abey.runtime.residents import Residents
from abey.runtime.reviving import Broken, Entry
from abey.runtime.signals import retrieved
from abey.runtime.snapshotting import Snapshotting
from abey.runtime.store.store import Store
from abey.runtime.tokens import Tokens

log = logging.getLogger(__name__)


class Sessions:
    """One damaged session never hides or stops another: it is an entry of its own."""

    def __init__(self, store: Store, versions: Versions, clock: Clock, snapshots: Snapshotting | None = None) -> None:
        self._store = store
        self._clock = clock
        self._loading = Loading(store, versions, clock)
        self.tokens = Tokens(self._tokens_of_all)
        self._coming: dict[str, asyncio.Future[Entry | None]] = {}
        self.residents = Residents()
        self.snapshots = snapshots or Snapshotting(store)
        self.study = self._loading.study
        """A session as its journal has it, to be kept or let go, while it is `away`."""
        self.recall = self._loading.recall
        self.disagreements = self._loading.disagreements
        self.prepare: Callable[[Session], Awaitable[None]] = versions.prepare
        self.on_load: Callable[[Live], None] = lambda _: None
        self.on_keep: Callable[[Entry], None] = lambda _: None
        self.on_commit: Callable[[Live, tuple[Record, ...]], None] = lambda _live, _records: None

    @property
    def loaded(self) -> tuple[Live, ...]:
        return tuple(entry for entry in self.entries.values() if isinstance(entry, Live))

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All that is in memory, whole or damaged."""
        return self.residents.found

    def log_of(self, session_id: str) -> EventLog | None:
        """The numbered events of a session that is in memory."""
        entry = self.peek(session_id)
        return entry.log if isinstance(entry, Live) else None

    async def all_loaded(self) -> bool:
        """Whether every session on disk is in memory."""
        ids = await asyncio.to_thread(self._store.ids)
        return all(session_id in self.entries for session_id in ids)

    async def get(self, session_id: str) -> Live:
        """The session. Raises UnknownSession, SessionDamaged."""
        entry = await self._prepared(session_id)
        if isinstance(entry, Broken):
            raise entry.refusal()
        return entry

    async def look(self, session_id: str) -> tuple[Machine, Damage | None]:
        """The session to be read only, as far as it can be. Raises UnknownSession, SessionDamaged."""
        entry = await self._prepared(session_id)
        if isinstance(entry, Live):
            return entry.machine, None
        if entry.machine is None:
            raise entry.refusal()
        return entry.machine, entry.damage

    async def _prepared(self, session_id: str) -> Entry:
        """As `entry`; its agent file was read aside, so that whoever shows the session reads nothing for long."""
        entry = await self.entry(session_id)
        if entry.machine is not None:
            await self.prepare(entry.machine.session)
        return await self.entry(session_id)  # it may be another one by now

    async def left_over(self, session_id: str) -> bool:
        """Whether only the beginnings of a session have this id: nobody was ever told that it is there. Raises
        UnknownSession, RecordFailed."""
        with suppress(SessionDamaged):
            await self.get(session_id)  # also one that is being made
            return False
        return await asyncio.to_thread(self._store.holds_nothing, session_id)

    async def all(self) -> tuple[tuple[Live, ...], tuple[Broken, ...]]:
        """Every session and every damaged one, oldest first."""
        met = []  # none of them leaves before all are here
        for session_id in await asyncio.to_thread(self._store.ids):
            with suppress(UnknownSession):  # it went, or its creation failed, while we looked
                met.append(await self.entry(session_id))
        live = sorted(self.loaded, key=lambda one: (one.machine.session.created_at, one.id))
        broken = [entry for entry in self.entries.values() if isinstance(entry, Broken)]
        return tuple(live), tuple(sorted(broken, key=lambda one: one.damage.session_id))

    async def of_token(self, token: str) -> tuple[Live, str]:
        """The session that issued this token, and the token whole: a unique beginning of it will do, also of one
        that was answered long ago. Raises UnknownToken."""
        session_id, whole = await self.tokens.whole(token)
        return await self.get(session_id), whole

    async def _tokens_of_all(self, _: str) -> Mapping[str, str]:
        await self.all()
        return {}

    async def create(self, session_id: str, make: Callable[[], Awaitable[Live]]) -> Live:
        """The session that `make` makes; nobody loads its journal meanwhile. Raises InvalidState if it exists."""
        await self._quiet(session_id)  # who asks whether it is there is no session
        if isinstance(self.peek(session_id), Live):
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
            self.residents.keep(session_id, live)
            return live
        finally:
            del self._coming[session_id]

    def committed(self, live: Live, records: tuple[Record, ...]) -> None:
        """These records of it are durable, and its machine knows of them."""
        for record in records:
            if type(record.data) is CallDecided:
                self.tokens.issued((record.data.token,), live.id)
        self.on_commit(live, records)
        self.snapshots.committed(live)

    def leave(self, live: Live) -> None:
        """It leaves memory, unless somebody holds it. Whose the tokens are that nothing waits for is not remembered."""
        self.tokens.rest(live.machine.session)
        self.snapshots.rest(live)

    def peek(self, session_id: str) -> Entry | None:
        """What is in memory of the session; reads nothing."""
        return self.residents.get(session_id)

    async def entry(self, session_id: str) -> Entry:
        """The session, whole or damaged. Raises UnknownSession."""
        return self.residents.use(session_id) or await self._load(session_id)

    @asynccontextmanager
    async def away(self, session_id: str) -> AsyncIterator[Entry | None]:
        """What is in memory of the session. Nobody loads, makes or takes it away meanwhile; who waits then looks at the
        disk."""
        entry = self.peek(session_id)  # it stays, however long somebody else has the session
        await self._quiet(session_id)
        gone: asyncio.Future[Entry | None] = asyncio.get_running_loop().create_future()
        self._coming[session_id] = gone
        entry = self.peek(session_id)
        try:
            await self.snapshots.settle(session_id)
            yield entry
        finally:
            del self._coming[session_id]
            gone.set_result(None)

    def forget(self, session_id: str) -> None:
        """Nothing of the session is remembered, nor whose its tokens were."""
        self.residents.forget(session_id)
        self.disagreements.pop(session_id, None)
        self.tokens.forget(session_id)

    async def reopen(self, session_id: str, if_revision: int | None = None) -> tuple[Live, bool]:
        """The session, read again if a write failed or it was damaged, and whether it was. Raises as `get`, and
        RevisionConflict, RecordFailed."""
        await self.entry(session_id)
        async with self.away(session_id) as entry:
            if entry is not None and entry.machine is not None:
                refuse_stale(entry.machine.session, if_revision)
            if isinstance(entry, Live) and entry.failure is None:
                return entry, False
            if isinstance(entry, Live):
                async with entry.lock:  # what is being written is either read again, or has failed
                    entry.journal.close()
                    await asyncio.to_thread(self._store.reopen, session_id, self._clock.now())
            self.residents.forget(session_id)
        return await self.get(session_id), True

    async def _quiet(self, session_id: str) -> None:
        """Returns when nobody loads or makes the session, or has taken it away."""
        while (coming := self._coming.get(session_id)) is not None:
            with suppress(UnknownSession):  # whoever asked for it is told so
                await asyncio.shield(coming)

    async def _load(self, session_id: str) -> Entry:
        while True:
            coming = self._coming.get(session_id)
            if coming is None:
                coming = self._coming[session_id] = asyncio.create_task(self._read(session_id))
                coming.add_done_callback(retrieved)
            entry = await asyncio.shield(coming)
            if entry is not None:
                return entry

    async def _read(self, session_id: str) -> Entry | None:
        try:
            return self.keep(session_id, await self.study(session_id))
        finally:
            # not a moment later: whoever met a future that is done would wait for it again and again, without a pause
            del self._coming[session_id]

    def keep(self, session_id: str, entry: Entry) -> Entry:
        """From now on the session is in memory."""
        if isinstance(entry, Broken):
            log.warning("session %s is damaged: %s", session_id, entry.damage.reason)
        self.residents.keep(session_id, entry)
        if isinstance(entry, Live):
            self.tokens.issued(issued_tokens(entry.machine.session), session_id)
            self.on_load(entry)
            self.snapshots.committed(entry)
        self.on_keep(entry)
        return entry
