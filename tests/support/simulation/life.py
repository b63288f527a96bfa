"""One life of a simulated daemon, from its start to its death, and what must be true of it at every moment."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from support.simulation.actors import Actors
from support.simulation.disk import SimulatedDisk
from support.simulation.loop import VirtualLoop
from support.simulation.story import Story

from abey.core.invariants import BrokenInvariant, check, check_journal, check_lines, check_step
from abey.core.machine import Machine
from abey.core.session import Session
from abey.daemon.app import App, create
from abey.daemon.settings import Settings
from abey.protocol.journal import Record
from abey.runtime.live import Live
from abey.runtime.sessions import Sessions
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store

START_SECONDS = 60.0
SLOW = (0.0, 0.02, 0.4, 2.0)


@dataclass
class Life:
    """`remembered` are the sessions as they were seen last, also in earlier lives: none may ever be behind that.
    `reads`: each look is at the journals, too."""

    app: App
    loop: VirtualLoop
    disk: SimulatedDisk
    remembered: dict[str, Session] = field(default_factory=dict)
    reads: bool = True
    _seen: dict[str, Machine] = field(default_factory=dict)
    _inside: frozenset[str] = frozenset()

    @classmethod
    def begin(cls, root: Path, disk: SimulatedDisk, chance: Random, now: float, actors: Actors, story: Story) -> "Life":
        loop = VirtualLoop(chance, now)
        disk.died = loop.die
        if story.slow_disk:
            loop.delays = SLOW

        async def made() -> App:
            app = create(_settings(root, story.rests), disk, actors.world())
            await app.start()
            return app

        return cls(loop.finish(made(), START_SECONDS), loop, disk)

    @property
    def sessions(self) -> Sessions:
        return self.app._services.sessions

    @property
    def stopping(self) -> bool:
        return self.app.stop_requested.is_set()

    @property
    def dead(self) -> bool:
        return self.loop.dead

    def within(self, work: Callable[[], Any]) -> None:
        """Done now, as in a callback of the loop."""
        with self.loop.running():
            work()

    def look(self) -> list[str]:
        """What is broken, of the sessions that have changed since the last look."""
        if self.dead:
            return []
        return [fault for live in self.sessions.loaded for fault in self._faults(live)]

    @property
    def known(self) -> dict[str, Session]:
        """The sessions that have been in memory and were not deleted, as they are: those that rest do not change."""
        on_disk = self.disk.root / "state" / "sessions"
        return {one: machine.session for one, machine in self._seen.items() if (on_disk / one).exists()}

    def load_all(self) -> None:
        """Also what has left memory is looked at next."""
        self.loop.finish(self.sessions.all(), START_SECONDS)

    def left(self) -> list[str]:
        """The sessions that are in memory no more since this was asked last, and are on the disk."""
        if self.dead:
            return []
        before, self._inside = self._inside, frozenset(self.sessions.entries)
        on_disk = self.disk.root / "state" / "sessions"
        return sorted(one for one in before - self._inside if (on_disk / one).exists())

    def look_anew(self) -> None:
        """The next look is at all sessions and their journals, changed or not."""
        self._seen.clear()
        self.reads = True

    def look_back(self) -> list[str]:
        """What is broken of the revisions that the sessions which are there can go back to."""
        faults = []
        for live in self.sessions.loaded:
            try:
                if live.failure is None:
                    check_lines(live.machine, _records(self.disk.root, live.id))
            except BrokenInvariant as broken:
                faults.append(f"{live.id}: not true: {broken}")
        return faults

    def end(self) -> None:
        """The process dies: nothing that was about to happen happens."""
        self.disk.end()
        self.loop.discard()
        with suppress(Exception):
            self.app._index._database.close()

    def _faults(self, live: Live) -> list[str]:
        if self._seen.get(live.id) is live.machine:
            return []
        self._seen[live.id] = live.machine
        before, after = self.remembered.get(live.id), live.machine.session
        self.remembered[live.id] = after
        try:
            if live.failure is None:
                check(live.machine)
                if self.reads:
                    check_journal(live.machine, _records(self.disk.root, live.id))
            if before is not None and before.created == after.created:
                if after.revision < before.revision:
                    return [f"{live.id} was at revision {before.revision}, and is at {after.revision}"]
                check_step(before, after)
        except BrokenInvariant as broken:
            return [f"{live.id} at revision {after.revision}: not true: {broken}"]
        return []


def _records(root: Path, session_id: str) -> list[Record]:
    """As anybody would read them from the disk."""
    units = Store(root / "state", FileIO("process")).read(session_id).units
    return [record for unit in units for record in unit]


def _settings(root: Path, rests: float) -> Settings:
    return Settings(
        mode="shared",
        state_dir=root / "state",
        config_dir=root / "config",
        runtime_dir=root / "run",
        socket=root / "socket",
        durability="power",
        log_level="error",
        log_format="text",
        idle_exit=1e9,
        tcp=None,
        env={"HOME": str(root / "home")},
        rest_after=rests,
    )
