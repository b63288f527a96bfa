"""Sessions are read from the disk, and what was wrong with them there is told."""

import asyncio
import logging
from contextlib import suppress

from abey.core.edits import IllegalRecord
from abey.core.notes import repair_note
from abey.errors import AbeyError, SessionDamaged, UnknownSession
from abey.runtime.agents.versions import Versions
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.ports import Clock
from abey.runtime.reviving import Entry, follow, revived
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.store import Store

RECALLED_BYTES = 4 << 20
"""Of a journal. Less than a snapshot stands for that was written while its session was in use."""

log = logging.getLogger(__name__)


class Loading:
    """`disagreements` say, by session, which snapshots lost against their journals when they were read last, and
    why."""

    def __init__(self, store: Store, versions: Versions, clock: Clock) -> None:
        self._store = store
        self._versions = versions
        self._clock = clock
        self.disagreements: dict[str, tuple[str, ...]] = {}

    async def study(self, session_id: str) -> Entry:
        """The session as its journal has it. Raises UnknownSession."""
        try:
            opened: Opened | Damaged = await asyncio.to_thread(self._store.load, session_id, self._clock.now())
        except UnknownSession:
            raise
        except AbeyError as error:
            opened = Damaged(session_id, error.message, None, ())
        self._tell(session_id, opened)
        return await revived(await asyncio.to_thread(follow, opened, self._store.read_partial), self._versions)

    async def recall(self, live: Live, after: int) -> None:
        """The events after that number are kept, if they are among those that would be had the session never left
        memory, and if it does not take long to read what came before its snapshot."""
        if live.log.lacks(after) and live.kept.end <= RECALLED_BYTES:
            live.log.recall(await asyncio.to_thread(self._whole_log, live.id))

    def _whole_log(self, session_id: str) -> EventLog:
        """As far as the journal can be read."""
        found = EventLog()
        with suppress(SessionDamaged, UnknownSession, IllegalRecord):
            for unit in self._store.read(session_id).units:
                found.add(unit)
        return found

    def _tell(self, session_id: str, opened: Opened | Damaged) -> None:
        for disagreement in opened.base.disagreements:
            log.warning("session %s: %s", session_id, disagreement)
        self.disagreements[session_id] = opened.base.disagreements
        if isinstance(opened, Opened) and opened.repaired is not None:
            log.warning("session %s: %s", session_id, repair_note(opened.repaired))
        if opened.lost:
            log.warning("session %s lacks %d values: %s", session_id, len(opened.lost), ", ".join(opened.lost[:9]))
