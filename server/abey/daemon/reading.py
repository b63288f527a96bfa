"""The methods that only look at one session or at the daemon: a session, its transcript, its events, the status."""

import asyncio
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from abey.core.session import Session
from abey.core.transcript_views import results_at, shown_turns
from abey.core.views import items, newest_items, queued_texts
from abey.daemon.paging import fitting_views
from abey.daemon.services import Services
from abey.errors import InvalidArguments, UnknownSession
from abey.protocol import handshake as h
from abey.protocol import params as p
from abey.protocol import queries as q
from abey.protocol.transcript import Item
from abey.rpc.dispatch import fitting
from abey.rpc.peer import Peer


class Reading:
    """Handlers. None of them writes anything or wakes a session."""

    def __init__(self, services: Services, daemon: Callable[[], h.DaemonInfo], clients: Callable[[], int]) -> None:
        self._services = services
        self._daemon = daemon
        self._clients = clients

    async def get(self, _: Peer, params: q.SessionParams) -> q.GetResult:
        machine, damage = await self._services.look(params.session_id)
        return q.GetResult(session=self._services.show_machine(machine, damage))

    async def transcript(self, _: Peer, params: q.TranscriptParams) -> q.TranscriptResult:
        machine, _damage = await self._services.sessions.look(params.session_id)
        session = self._services.now(machine).session
        if params.after is None:
            found = _newest(session, params.before, params.limit + 1)
            page = fitting_views(found[: params.limit])[::-1]
        else:
            found = _after(session, params.before, params.after, params.limit + 1)
            page = fitting_views(found[: params.limit])
        return q.TranscriptResult(
            items=page,
            has_more=len(page) < len(found),
            turns=shown_turns(session, page),
            results_at=results_at(session, page) or None,
            queued_texts=queued_texts(session) or None,
        )

    async def events(self, _: Peer, params: q.EventsParams) -> q.EventsResult:
        live = await self._services.sessions.get(params.session_id)
        after = params.after or 0
        if params.wait_ms and after == live.log.next_seq - 1:
            with suppress(TimeoutError):
                await asyncio.wait_for(live.changed.wait(), params.wait_ms / 1000)
        await self._services.sessions.recall(live, after)
        if isinstance(live.failure, UnknownSession):
            raise live.refusal()
        found = live.log.since(after, params.limit, self._services.agent_then)
        if found is None:
            return q.EventsResult(events=(), next_seq=live.log.next_seq, has_more=False, status="expired")
        found = found[: fitting(found)]
        next_seq = (found[-1].seq or 0) + 1 if found else after + 1
        return q.EventsResult(events=found, next_seq=next_seq, has_more=next_seq < live.log.next_seq, status="ok")

    def status(self, _: Peer, __: p.NoParams) -> q.StatusResult:
        """Waits for nothing: it is what clients ask to know whether anybody answers."""
        loaded = self._services.sessions.loaded
        busy = [one for one in loaded if one.machine.work.live]
        return q.StatusResult(
            daemon=self._daemon(),
            clients=self._clients(),
            sessions={"loaded": len(loaded), "running": len(busy)},
            queues={"inputs": sum(len(one.machine.session.queue) for one in loaded)},
            memory={"rssBytes": _resident_bytes()},
            durability=self._services.settings.durability,
            state="draining" if self._services.scheduler.draining else "running",
        )


def _newest(session: Session, before: str | None, most: int) -> tuple[Item, ...]:
    """The newest items, or those before one of them, newest first. Raises InvalidArguments where there is none."""
    found = newest_items(session)
    if before is not None and not any(item.item_id == before for item in found):
        raise _unknown(before)
    return tuple(islice(found, most))


def _after(session: Session, before: str | None, after: str, most: int) -> tuple[Item, ...]:
    """The first items after one of them, oldest first. Raises InvalidArguments where there is none."""
    found = tuple(items(session))
    ids = [item.item_id for item in found]
    for one in (before, after):
        if one is not None and one not in ids:
            raise _unknown(one)
    return found[ids.index(after) + 1 : None if before is None else ids.index(before)][:most]


def _unknown(item_id: str) -> InvalidArguments:
    return InvalidArguments(f"the transcript has no item {item_id}", errors=["itemId is unknown"])


_STATM_BYTES = 128


def _resident_bytes() -> int:
    """The memory of this process, 0 where the system does not say."""
    try:
        return int(os.pread(_statm(), _STATM_BYTES, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@functools.cache
def _statm() -> int:
    """Open for as long as the process lives: it is read at every status."""
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
