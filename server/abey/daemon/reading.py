"""The methods that only look: pending calls, sessions, transcripts, events, the daemon itself."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePath

from abey.core.machine import Machine
from abey.core.views import items, pending_view, summary_view
from abey.daemon.services import Services
from abey.errors import InvalidArguments
from abey.protocol import handshake as h
from abey.protocol import params as p
from abey.protocol import queries as q
from abey.protocol.session import Damage, Session
from abey.protocol.transcript import Item, Pending
from abey.rpc.dispatch import fitting
from abey.rpc.peer import Peer


class Reading:
    """Handlers. None of them writes anything or wakes a session."""

    def __init__(self, services: Services, daemon: h.DaemonInfo, clients: Callable[[], int]) -> None:
        self._services = services
        self._daemon = daemon
        self._clients = clients

    async def pending(self, _: Peer, params: q.PendingParams) -> q.PendingResult:
        if params.session_id is not None:
            machine, damage = await self._services.sessions.look(params.session_id)
            machines = [] if damage else [machine]
        else:
            machines = [live.machine for live in (await self._services.sessions.all())[0]]
        found = [pending for machine in machines for pending in self._pending_of(machine)]
        wanted = [one for one in found if params.kinds is None or one.kind in params.kinds]
        start = _start(params.cursor)
        page = wanted[start : start + params.limit]
        page = page[: fitting(page)]
        return q.PendingResult(items=tuple(page), next_cursor=_cursor(start + len(page), len(wanted)))

    async def get(self, _: Peer, params: q.SessionParams) -> q.GetResult:
        machine, damage = await self._services.sessions.look(params.session_id)
        return q.GetResult(session=self._services.show_machine(machine, damage))

    async def transcript(self, _: Peer, params: q.TranscriptParams) -> q.TranscriptResult:
        machine, _damage = await self._services.sessions.look(params.session_id)
        found = list(items(self._services.now(machine).session))
        before = _index(found, params.before, len(found))
        after = _index(found, params.after, -1)
        between = found[after + 1 : before]
        if params.after is not None:
            page = between[: params.limit]
            page = page[: fitting(page)]
        else:
            page = between[-params.limit :]
            page = page[len(page) - fitting(page[::-1]) :]
        return q.TranscriptResult(items=tuple(page), has_more=len(page) < len(between))

    async def sessions(self, _: Peer, params: q.SessionsParams) -> q.SessionsResult:
        live, broken = await self._services.sessions.all()
        seen: list[tuple[Machine, Damage | None]] = [(one.machine, None) for one in live]
        seen += [(one.machine, one.damage) for one in broken if one.machine is not None]
        seen.sort(key=lambda one: (one[0].session.created_at, one[0].session.id), reverse=True)
        wanted = [one for one in seen if self._wanted(self._services.now(one[0]), params)]
        start = _start(params.cursor)
        page = wanted[start : start + params.limit]
        shown: list[Session] = [self._services.show_machine(machine, damage) for machine, damage in page]
        shown = shown[: fitting(shown)]
        cursor = _cursor(start + len(shown), len(wanted))
        return q.SessionsResult(items=tuple(shown), next_cursor=cursor, damaged=tuple(one.damage for one in broken))

    async def events(self, _: Peer, params: q.EventsParams) -> q.EventsResult:
        live = await self._services.sessions.get(params.session_id)
        after = params.after or 0
        if params.wait_ms and after == live.log.next_seq - 1:
            with suppress(TimeoutError):
                await asyncio.wait_for(live.changed.wait(), params.wait_ms / 1000)
        found = live.log.since(after, params.limit, self._services.agent_then)
        if found is None:
            return q.EventsResult(events=(), next_seq=live.log.next_seq, has_more=False, status="expired")
        found = found[: fitting(found)]
        next_seq = (found[-1].seq or 0) + 1 if found else after + 1
        return q.EventsResult(events=found, next_seq=next_seq, has_more=next_seq < live.log.next_seq, status="ok")

    async def status(self, _: Peer, __: p.NoParams) -> q.StatusResult:
        loaded = self._services.sessions.loaded
        busy = [one for one in loaded if one.machine.work.live]
        return q.StatusResult(
            daemon=self._daemon,
            clients=self._clients(),
            sessions={"loaded": len(loaded), "running": len(busy)},
            queues={"inputs": sum(len(one.machine.session.queue) for one in loaded)},
            memory={"rssBytes": _resident_bytes()},
            durability=self._services.settings.durability,
            state="draining" if self._services.scheduler.draining else "running",
        )

    def _pending_of(self, machine: Machine) -> tuple[Pending, ...]:
        return pending_view(self._services.now(machine).session, self._services.agent_of(machine))

    def _wanted(self, machine: Machine, params: q.SessionsParams) -> bool:
        session = machine.session
        under = params.under
        return (
            (params.agent is None or session.created.agent == params.agent)
            and (params.state is None or session.state == params.state)
            and (params.attention is None or summary_view(machine).attention == params.attention)
            and (under is None or any(_is_under(session.created.cwd, folder) for folder in under))
        )


def _start(cursor: str | None) -> int:
    """Where a page begins. Raises InvalidArguments for a cursor that is none of ours."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidArguments(f"cursor {cursor!r} is not one that was given out", errors=["cursor is unknown"])
    return int(cursor or "0")


def _cursor(end: int, count: int) -> str | None:
    return str(end) if end < count else None


def _index(found: Sequence[Item], item_id: str | None, default: int) -> int:
    """Where the item is. Raises InvalidArguments where there is none."""
    if item_id is None:
        return default
    for index, item in enumerate(found):
        if item.item_id == item_id:
            return index
    raise InvalidArguments(f"the transcript has no item {item_id}", errors=["itemId is unknown"])


def _is_under(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)


def _resident_bytes() -> int:
    """The memory of this process, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
