"""A session out of records from elsewhere: written as one unit, then in memory like any other."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from abey.core.machine import Machine
from abey.core.replay import recover
from abey.protocol.base import Json
from abey.protocol.journal import Created, Record
from abey.runtime.agents.versions import Versions
from abey.runtime.disk import DiskFloor
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.ports import Ports
from abey.runtime.sessions import Sessions


class Adopting:
    """What is begun is carried out to its end, whether or not somebody still waits for it."""

    def __init__(self, ports: Ports, sessions: Sessions, versions: Versions) -> None:
        self._ports = ports
        self._sessions = sessions
        self._versions = versions
        self._disk = DiskFloor(ports.store.state_dir, ports.store.space)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def adopt(self, records: Sequence[Record], configs: Mapping[str, Json], wholes: Mapping[str, bytes]) -> Live:
        """The session of these records, the first of which is `created`; durable when this returns.

        Raises InvalidState where the id is taken, InvalidAgent where no agent can go on with it, TooLarge,
        RecordFailed; then there is no session.
        """
        task = asyncio.create_task(self._adopt(tuple(records), configs, wholes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Waits for what is being written."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _adopt(
        self, records: tuple[Record, ...], configs: Mapping[str, Json], wholes: Mapping[str, bytes]
    ) -> Live:
        self._disk.check(self._ports.clock.millis())
        created = records[0].data
        if not isinstance(created, Created):
            raise ValueError("a session begins with created")
        live = await self._sessions.create(created.session_id, lambda: self._create(created, records, configs, wholes))
        self._versions.keep(live.agent)
        self._sessions.committed(live, records)
        self._sessions.on_load(live)
        self._ports.listener.changed(live.machine)
        return live

    async def _create(
        self,
        created: Created,
        records: tuple[Record, ...],
        configs: Mapping[str, Json],
        wholes: Mapping[str, bytes],
    ) -> Live:
        history = EventLog()
        await asyncio.to_thread(history.add, records)
        if history.session is None:
            raise ValueError("records make a session")
        await asyncio.to_thread(self._save, {created.config_hash: created.config, **configs})
        machine = Machine(recover(history.session))
        agent = await self._versions.prepared(machine.session)
        journal = await asyncio.to_thread(self._ports.store.create, created.session_id, records, wholes)
        return Live(machine, journal, history, agent)

    def _save(self, configs: Mapping[str, Json]) -> None:
        for config_hash, config in configs.items():
            self._ports.store.save_config(config_hash, config)
