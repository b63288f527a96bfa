"""What was decided goes to the disk: one write at a time of a session, and few at a time of all."""

import asyncio
from typing import Any

from abey.core.transition import Transition
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.parking import Parking
from abey.runtime.store.journal import Journal
from abey.runtime.store.store import Store
from abey.runtime.writers import Writers

WRITERS = 8
"""Journals that are written to at the same moment: with the parked ones, all that are ever open."""


class Recording:
    """Whoever writes to a session holds its lock."""

    def __init__(self, store: Store) -> None:
        self.parking = Parking()
        self._store = store
        self._saved: set[str] = set()
        self._writers = Writers(WRITERS)

    async def create(self, done: Transition) -> Live:
        """A new session, durable when this returns. Raises InvalidState, TooLarge, RecordFailed."""
        journal = await asyncio.get_running_loop().run_in_executor(self._writers, self._create, done)
        live = Live(done.machine, journal, EventLog(), done.agent)
        self.parking.wrote(live)
        return live

    async def append(self, live: Live, done: Transition) -> None:
        """Its records are durable when this returns. Raises TooLarge, and then nothing was written; RecordFailed."""
        live.writing = True
        try:
            await asyncio.get_running_loop().run_in_executor(self._writers, self._append, live, done)
        finally:
            live.writing = False
            self.parking.wrote(live)

    def _create(self, done: Transition) -> Journal:
        session = done.machine.session
        self._save_config(session.config_hash, session.created.config)
        return self._store.create(session.id, done.records)

    def _append(self, live: Live, done: Transition) -> None:
        self._save_config(done.agent.config_hash, done.agent.config)
        live.journal.append(done.records)

    def _save_config(self, config_hash: str, config: Any) -> None:
        if config_hash not in self._saved:
            self._store.save_config(config_hash, config)
            self._saved.add(config_hash)
