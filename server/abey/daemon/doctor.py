"""The methods that look after the whole state directory: what is well, and what can be spared."""

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abey.daemon.services import Services
from abey.protocol import params as p
from abey.protocol import upkeep as u
from abey.rpc.dispatch import fitting
from abey.rpc.peer import Peer
from abey.runtime.around import FoundExtension, Hooks
from abey.runtime.collecting import Collector
from abey.runtime.index.database import Database
from abey.runtime.keeping import Keeping
from abey.runtime.retention import Garbage
from abey.runtime.store.io import FileIO
from abey.runtime.tools.helper import ProcessHelper

if TYPE_CHECKING:
    from abey.runtime.doctor.findings import Finding
    from abey.runtime.doctor.subject import Subject


def make_doctor(
    services: Services, keeping: Keeping, database: Database, helper: ProcessHelper, io: FileIO, hooks: Hooks
) -> "Doctor":
    """The doctor of a daemon, and who clears up there."""

    async def delete(session_id: str, revision: int) -> None:
        await keeping.delete(session_id, revision, force=False)

    collector = Collector(services.settings.state_dir, io, services.sessions, services.clock, delete)
    return Doctor(services, database, helper, hooks, io, collector)


class Doctor:
    """Handlers."""

    def __init__(
        self,
        services: Services,
        database: Database,
        helper: ProcessHelper,
        hooks: Hooks,
        io: FileIO,
        collector: Collector,
    ) -> None:
        self._services = services
        self._database = database
        self._helper = helper
        self._hooks = hooks
        self._io = io
        self._collector = collector

    async def doctor(self, peer: Peer, _: p.NoParams) -> u.DoctorResult:
        from abey.runtime.doctor.checkup import examine  # most daemons are never examined
        from abey.runtime.doctor.host import Host

        subject = self._subject(peer, await self._hooks.found())
        found = await asyncio.to_thread(examine, Host(self._io), subject)
        shown = tuple(_finding(one) for one in found)
        return u.DoctorResult(findings=shown[: fitting(shown)])

    async def gc(self, _: Peer, params: u.GcParams) -> u.GcResult:
        found = await (self._collector.look() if params.dry_run else self._collector.collect())
        items = tuple(_item(one) for one in found)
        shown = items[: fitting(items)]
        return u.GcResult(
            items=shown,
            omitted=len(items) - len(shown) or None,
            bytes=sum(item.bytes for item in items),
            dry_run=params.dry_run,
        )

    async def close(self) -> None:
        """Waits for what is being cleared up."""
        await self._collector.close()

    def _subject(self, peer: Peer, extensions: Sequence[FoundExtension]) -> "Subject":
        from abey.runtime.doctor.subject import Running, Subject

        settings, sessions = self._services.settings, self._services.sessions
        env = settings.env if peer.options.env is None else peer.options.env
        loaded = sessions.loaded
        running = Running(
            pid=os.getpid(),
            durability=settings.durability,
            leaves_nothing=self._helper.leaves_nothing,
            has_index=not self._database.off,
            whole=frozenset(live.id for live in loaded if live.failure is None),
            failed={live.id: live.failure.message for live in loaded if live.failure is not None},
            disagreements=dict(sessions.disagreements),
            extensions=extensions,
        )
        return Subject(settings.state_dir, settings.config_dir, settings.socket, env, running)


def _finding(one: "Finding") -> u.Finding:
    return u.Finding(
        check=one.check, severity=one.severity, message=one.message, advice=one.advice, session_id=one.session_id
    )


def _item(one: Garbage) -> u.GcItem:
    path = os.fspath(one.path)
    return u.GcItem(kind=one.kind, path=path, bytes=one.bytes, reason=one.reason, session_id=one.session_id)
