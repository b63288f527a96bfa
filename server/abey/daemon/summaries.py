"""The summaries of many sessions, for a client that was away: those that want somebody first."""

import asyncio
import json
from collections.abc import Mapping

from abey.core.machine import Machine
from abey.core.views import damaged_summary, summary_view
from abey.daemon.services import Services
from abey.protocol.notifications import Summary
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.index import Index
from abey.runtime.index.rows import Found, Row
from abey.runtime.index.schema import Filter
from abey.runtime.live import Live
from abey.runtime.reviving import Entry

WANTING = ("question", "approval", "external", "uncertain", "error")

AT_A_TIME = 200

Key = tuple[str, str]
"""`(createdAt, id)` of a session: newest first is the order of lists."""


class Summaries:
    """A session that is not in memory is told from its row in the index."""

    def __init__(self, services: Services, index: Index) -> None:
        self._services = services
        self._index = index

    async def read(self, most: int) -> "Read":
        """Enough to tell the summaries of the first `most` sessions later on, in one moment."""
        try:
            await self._index.check()
            urgent = [one for kind in WANTING for one in await self._index.select(Filter(attention=kind))]
            others = await self._index.select(Filter(archived=False))
            rows = await self._index.rows([session_id for _, session_id in _newest(urgent, others)[: most + 1]])
        except IndexFailed:  # it was told, and the journals have it all
            await self._services.sessions.all()
            rows = {}
        read = Read(self._services, rows, most)
        await read.prepare()
        return read


class Read:
    """What the index said."""

    def __init__(self, services: Services, rows: Mapping[str, Row], most: int) -> None:
        self._services = services
        self._rows = rows
        self._most = most
        self._made: dict[str, tuple[Machine, Summary]] = {}

    async def prepare(self) -> None:
        """Makes the summaries of the sessions in memory, a few at a time: nobody else waits for all of them."""
        for index, (session_id, entry) in enumerate(tuple(self._services.sessions.entries.items())):
            if not index % AT_A_TIME:
                await asyncio.sleep(0)
            self._summary(session_id, entry)

    def summaries(self) -> tuple[tuple[Summary, ...], bool]:
        """The first summaries as they are at this moment, and whether there are more."""
        inside = self._inside()
        outside = {row.id: (row.created_at, _of_row(row)) for row in self._rows.values() if row.id not in inside}
        found = sorted((inside | outside).values(), key=lambda one: (one[0], one[1].session_id), reverse=True)
        urgent = [summary for _, summary in found if summary.attention != "none"]
        quiet = [summary for _, summary in found if summary.attention == "none"]
        return (*urgent, *quiet)[: self._most], len(found) > self._most

    def _inside(self) -> dict[str, tuple[str, Summary]]:
        """Of the sessions in memory, but for those that are put away and want nobody."""
        told: dict[str, tuple[str, Summary]] = {}
        for session_id, entry in self._services.sessions.entries.items():
            summary = self._summary(session_id, entry)
            if entry.machine is not None and summary is not None and not _put_away(entry.machine, summary):
                told[session_id] = entry.machine.session.created_at, summary
        return told

    def _summary(self, session_id: str, entry: Entry) -> Summary | None:
        """Made again only where the session is another one by now; None where nothing of it can be shown."""
        if entry.machine is None:
            return None
        machine, summary = self._made.get(session_id, (None, None))
        if summary is None or machine is not entry.machine:
            now = self._services.now(entry.machine)
            summary = summary_view(now) if isinstance(entry, Live) else damaged_summary(now)
            self._made[session_id] = entry.machine, summary
        return summary


def _put_away(machine: Machine, summary: Summary) -> bool:
    return machine.session.archived and summary.attention == "none"


def _newest(urgent: list[Found], others: tuple[Found, ...]) -> list[Key]:
    """Those that want somebody first, and each of both newest first; no session twice."""
    first = sorted({(one.created_at, one.id) for one in urgent}, reverse=True)
    then = sorted({(one.created_at, one.id) for one in others} - set(first), reverse=True)
    return first + then


def _of_row(row: Row) -> Summary:
    view = json.loads(row.view)
    return Summary.model_validate(
        {
            "sessionId": row.id,
            "title": view["title"],
            "cwd": view["cwd"],
            "state": row.state,
            "activity": "idle",
            "revision": row.revision,
            "pendingCount": sum(call["kind"] != "running" for call in view["pending"]),
            "attention": row.attention,
        }
    )
