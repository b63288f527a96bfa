"""The methods that look after a session: its title, the trash, and the repair of its journal."""

from contextlib import suppress

from abey.core import events as e
from abey.daemon.driving import submit
from abey.daemon.idempotency import Done, Outcome
from abey.daemon.paging import cursor_at, start_of
from abey.daemon.services import Services
from abey.errors import SessionDamaged
from abey.protocol import methods as m
from abey.protocol import params as p
from abey.protocol import requests as r
from abey.protocol import upkeep as u
from abey.protocol.session import Session
from abey.rpc.peer import Peer
from abey.runtime.keeping import Keeping
from abey.runtime.live import Live


class Upkeep:
    """Handlers."""

    def __init__(self, services: Services, keeping: Keeping) -> None:
        self._services = services
        self._keeping = keeping

    async def update(self, peer: Peer, params: u.UpdateParams) -> Done:
        event = e.Update(params.title, params.archived, peer.client)
        return await submit(self._services, m.UPDATE, params, event)

    def shown(self, _: u.UpdateParams, live: Live, __: Outcome) -> Session:
        return self._services.show(live)

    async def delete(self, _: Peer, params: u.DeleteParams) -> p.Nothing:
        await self._keeping.delete(params.session_id, params.if_revision, force=params.force)
        return p.Nothing()

    async def restore(self, _: Peer, params: r.SessionEffect) -> Session:
        machine, damage = await self._keeping.restore(params.session_id, params.if_revision)
        return self._services.show_machine(machine, damage)

    async def trash(self, _: Peer, params: u.TrashParams) -> u.TrashResult:
        found = sorted(await self._keeping.trashed(), key=lambda one: (one.deleted_at, one.session_id), reverse=True)
        start = start_of(params.cursor)
        page = found[start : start + params.limit]
        items = tuple(u.Trashed(session_id=one.session_id, deleted_at=one.deleted_at) for one in page)
        return u.TrashResult(items=items, next_cursor=cursor_at(start + len(page), len(found)))

    async def repair(self, _: Peer, params: u.RepairParams) -> u.RepairResult:
        if not params.apply:
            found = await self._keeping.examine(params.session_id)
        else:
            found = await self._keeping.repair(params.session_id, params.if_revision)
        return u.RepairResult(
            session_id=params.session_id,
            found=found.found,
            actions=found.actions,
            applied=found.applied,
            original=found.original,
            session=await self._session(params.session_id) if found.applied else None,
        )

    async def _session(self, session_id: str) -> Session | None:
        """The session as it is loaded now, None where something else than its journal keeps it from that."""
        with suppress(SessionDamaged):
            machine, damage = await self._services.sessions.look(session_id)
            return self._services.show_machine(machine, damage)
        return None
