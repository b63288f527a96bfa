"""The methods that look at many sessions: those in memory as they are, the others as the index has them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath

from abey.core.agent_views import pending_with_agent, with_agent
from abey.core.machine import Machine
from abey.core.pending_views import pending_view
from abey.core.views import summary_view
from abey.daemon.paging import cursor_at, start_of
from abey.daemon.services import Services
from abey.errors import AbeyError
from abey.protocol import queries as q
from abey.protocol.session import Damage, Usage
from abey.protocol.session import Session as SessionView
from abey.protocol.transcript import Pending
from abey.rpc.dispatch import fitting
from abey.rpc.peer import Peer
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.index import Index
from abey.runtime.index.rows import Found, Row, folder_of, plain
from abey.runtime.index.schema import Filter
from abey.runtime.index.words import Query, query_of, session_texts, words_of
from abey.runtime.reviving import Broken

TRIES = 2
"""An index that fails is made anew once before all journals are read."""

Key = tuple[str, str]
"""`(createdAt, id)` of a session: the order of lists."""


class Listing:
    """Handlers. A session that is not in memory stays so, unless its row cannot tell all of it."""

    def __init__(self, services: Services, index: Index) -> None:
        self._services = services
        self._index = index

    async def sessions(self, peer: Peer, params: q.SessionsParams) -> q.SessionsResult:
        if params.partial_result_token is None:
            return await self._page(params)
        page = await self._page(params)
        while page.items:
            value = {"items": [item.wire() for item in page.items]}
            peer.notify("$/progress", {"token": params.partial_result_token, "value": value})
            if page.next_cursor is None:
                break
            page = await self._page(params.model_copy(update={"cursor": page.next_cursor}))
        return page.model_copy(update={"items": (), "next_cursor": None})

    async def _page(self, params: q.SessionsParams) -> q.SessionsResult:
        query = query_of(params.query)
        rows, matching = await self._outside(_filter(params), query)
        inside = self._services.sessions.entries
        found = [row for row in rows if row.id not in inside and (matching is None or row.id in matching)]
        found += [
            _found(machine)
            for machine, damage in self._inside()
            if self._wanted(machine, params) and _says(machine, query, None if damage else matching)
        ]
        keys = sorted(((one.created_at, one.id) for one in found), reverse=True)
        start = start_of(params.cursor)
        shown = await self._shown([session_id for _, session_id in keys[start : start + params.limit]])
        items = shown[: fitting(shown)]
        end = start + (params.limit if len(items) == len(shown) else len(items))
        damaged = sorted((one.damage for one in self._broken()), key=lambda one: one.session_id)
        return q.SessionsResult(
            usage=_used(found),
            items=tuple(items),
            next_cursor=cursor_at(end, len(keys)),
            damaged=tuple(damaged),
        )

    async def pending(self, _: Peer, params: q.PendingParams) -> q.PendingResult:
        if params.session_id is not None:
            machine, damage = await self._services.look(params.session_id)
            found = [] if damage else [*self._pending_of(machine)]
        else:
            found = await self._all_pending()
        wanted = [one for one in found if params.kinds is None or one.kind in params.kinds]
        start = start_of(params.cursor)
        page = wanted[start : start + params.limit]
        page = page[: fitting(page)]
        return q.PendingResult(items=tuple(page), next_cursor=cursor_at(start + len(page), len(wanted)))

    async def _outside(self, wanted: Filter, query: Query) -> tuple[Sequence[Found], frozenset[str] | None]:
        """The wanted sessions that have rows, and all in which the query stands, where there is one. After any failure
        of the index all sessions are in memory, and nothing else is told."""
        sessions = self._services.sessions
        if query == Query() and await sessions.all_loaded():
            return (), None
        for _ in range(TRIES):
            with suppress(IndexFailed):  # it was told, and the journals have it all
                await self._index.check()
                await self._load_those_without_agent()
                matching = None if query == Query() else await self._index.matching(query)
                return await self._index.select(wanted), matching
        await sessions.all()
        return (), None

    async def _load_those_without_agent(self) -> None:
        """A session without any version of its agent is damaged, and its journal says how much of it can be shown."""
        for source in await self._index.sources():
            with suppress(AbeyError):
                await self._services.versions.of_row(*json.loads(source))
                continue
            for session_id in await self._index.of_source(source):
                with suppress(AbeyError):  # it is damaged, and that is kept, or it is gone
                    await self._services.sessions.entry(session_id)

    def _inside(self) -> list[tuple[Machine, Damage | None]]:
        """The sessions in memory, as far as there is something to be shown of them."""
        live: list[tuple[Machine, Damage | None]] = [(one.machine, None) for one in self._services.sessions.loaded]
        return live + [(one.machine, one.damage) for one in self._broken() if one.machine is not None]

    def _broken(self) -> list[Broken]:
        return [one for one in self._services.sessions.entries.values() if isinstance(one, Broken)]

    def _wanted(self, machine: Machine, params: q.SessionsParams) -> bool:
        now = self._services.now(machine)
        session, under = now.session, params.under
        return (
            (params.agent is None or session.created.agent == params.agent)
            and (params.state is None or session.state == params.state)
            and (params.attention is None or summary_view(now).attention == params.attention)
            and (params.archived or not session.archived)
            and (under is None or any(PurePath(session.created.cwd).is_relative_to(folder) for folder in under))
        )

    async def _shown(self, session_ids: Sequence[str]) -> list[SessionView]:
        """The sessions, without those that are gone by now."""
        rows = await self._rows(session_ids)
        shown = [await self._view(session_id, rows.get(session_id)) for session_id in session_ids]
        return [view for view in shown if view is not None]

    async def _view(self, session_id: str, row: Row | None) -> SessionView | None:
        if row is not None:
            with suppress(AbeyError):  # without a version of its agent it is damaged
                source = json.loads(row.source)
                agent = await self._services.versions.of_row(*source)
                view = SessionView.model_validate(json.loads(row.view))
                agent = await self._services.with_tools(agent, (call.tool for call in view.pending))
                if session_id not in self._services.sessions.entries:
                    return with_agent(view, agent, source[2])
        with suppress(AbeyError):
            return self._services.show_machine(*await self._services.look(session_id))
        return None

    async def _rows(self, session_ids: Sequence[str]) -> Mapping[str, Row]:
        outside = [one for one in session_ids if one not in self._services.sessions.entries]
        with suppress(IndexFailed):  # then they are loaded
            return await self._index.rows(outside) if outside else {}
        return {}

    async def _all_pending(self) -> list[Pending]:
        keys = {(one.created_at, one.id) for one in (await self._outside(Filter(pending=True), Query()))[0]}
        keys |= {_key(live.machine) for live in self._services.sessions.loaded}
        rows = await self._rows([session_id for _, session_id in keys])
        found: list[Pending] = []
        for _, session_id in sorted(keys):
            found += await self._pending_in(session_id, rows.get(session_id))
        return found

    async def _pending_in(self, session_id: str, row: Row | None) -> Sequence[Pending]:
        if row is not None:
            with suppress(AbeyError):
                source = json.loads(row.source)
                agent = await self._services.versions.of_row(*source)
                pending = SessionView.model_validate(json.loads(row.view)).pending
                agent = await self._services.with_tools(agent, (call.tool for call in pending))
                whole = await self._index.tells_all_of(session_id, pending)
                if whole and session_id not in self._services.sessions.entries:
                    return pending_with_agent(pending, agent, source[2])
        with suppress(AbeyError):
            machine, damage = await self._services.look(session_id)
            return () if damage else self._pending_of(machine)
        return ()

    def _pending_of(self, machine: Machine) -> tuple[Pending, ...]:
        pending = pending_view(self._services.now(machine).session, self._services.equipped(machine))
        return self._services.with_output(machine.session.id, pending)


def _filter(params: q.SessionsParams) -> Filter:
    return Filter(
        agent=None if params.agent is None else plain(params.agent),
        state=params.state,
        attention=None if params.attention is None else plain(params.attention),
        archived=None if params.archived else False,
        folders=None if params.under is None else tuple(map(folder_of, params.under)),
    )


def _found(machine: Machine) -> Found:
    used = machine.session.usage
    return Found(*_key(machine), used.input_tokens, used.output_tokens, used.cost)


def _used(found: Sequence[Found]) -> Usage:
    """What they have used, all together; of a cost that is not known of some the sum is that of the others."""
    costs = [one.cost for one in found if one.cost is not None]
    return Usage(
        input_tokens=sum(one.input_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cost=sum(costs) if costs else None,
    )


def _key(machine: Machine) -> Key:
    return machine.session.created_at, machine.session.id


def _says(machine: Machine, query: Query, matching: frozenset[str] | None) -> bool:
    """Whether the query stands in the session; `matching` are all in which it does, where that is known."""
    if query == Query():
        return True
    if matching is not None:
        return machine.session.id in matching
    return query.fits(words_of(session_texts(machine.session)))
