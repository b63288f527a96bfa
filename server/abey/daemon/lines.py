"""The methods that take a session back, make another one of it, or tell it as a record."""

import asyncio

from abey.core import events as e
from abey.core.forking import Fork
from abey.core.idempotency import made_at_once
from abey.core.inputs import refuse_stale
from abey.core.lines import at
from abey.core.records import record_of
from abey.core.session import Session
from abey.daemon.driving import refuse_while_draining, submit
from abey.daemon.idempotency import Done, fresh_id, keyed
from abey.daemon.services import Services
from abey.errors import InvalidState, TooLarge
from abey.protocol import lines as li
from abey.protocol import methods as m
from abey.protocol import queries as q
from abey.rpc.dispatch import REPLY_BYTES
from abey.rpc.messages import encode
from abey.rpc.peer import Peer
from abey.runtime.store.store import Store
from abey.runtime.transfer.adopting import Adopting
from abey.runtime.transfer.forking import copied


class Lines:
    def __init__(self, services: Services, store: Store, adopting: Adopting) -> None:
        self._services = services
        self._store = store
        self._adopting = adopting

    async def rewind(self, peer: Peer, params: li.RewindParams) -> Done:
        return await submit(self._services, m.REWIND, params, e.Rewind(params.to, peer.client))

    async def fork(self, peer: Peer, params: li.ForkParams) -> Done:
        refuse_while_draining(self._services)
        clock, source = self._services.clock, await self._services.sessions.get(params.session_id)
        session = source.machine.session
        refuse_stale(session, params.if_revision)
        revision = _place(session, params.at)
        session_id = await fresh_id(self._services, params.idempotency_key)
        title = f"{session.title} (fork)" if params.title is None else params.title
        fork = Fork(session_id, title, peer.client, clock.now(), clock.entropy())
        copy = await asyncio.to_thread(copied, self._store, source.id, revision, fork)
        request = keyed(m.FORK, params)
        made = made_at_once(copy.records, request.request if request else None)
        with self._services.keys.driven(session_id, peer.options.env):
            live = await self._adopting.adopt(made, {}, copy.wholes)
        return Done(live, {})

    async def record(self, _: Peer, params: q.SessionParams) -> li.RecordResult:
        live = await self._services.sessions.get(params.session_id)
        return await asyncio.to_thread(_told, self._services.now(live.machine).session)


def _told(session: Session) -> li.RecordResult:
    """The record of a session. Raises TooLarge: one without the middles of its texts would be the record of another."""
    record = record_of(session)
    size = len(encode(record))
    if size > REPLY_BYTES:
        message = f"the record of session {session.id} has {size} bytes, {REPLY_BYTES} fit into a reply; export it"
        raise TooLarge(message, sessionId=session.id, bytes=size, limit=REPLY_BYTES)
    return record


def _place(session: Session, revision: int | None) -> int:
    """Where a fork leaves a session: where it was asked for, else as the session is now. Raises InvalidState."""
    if revision is not None:
        return at(session, revision).revision
    try:
        return at(session, session.revision).revision
    except InvalidState as error:
        last = session.batch.revision if session.batch is not None else session.revision - 1
        state = error.details["state"]
        message = f"session {session.id} is not at rest ({state}); revision {last} is the last that it can be forked at"
        raise InvalidState(message, **error.details, lastLegal=last) from None
