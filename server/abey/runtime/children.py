"""Children in the daemon: found in memory or on the disk, and what happens to them is told to their parents."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from abey.core.call import Call
from abey.core.children import DEEPEST, failed, outcome_of, working
from abey.core.conversation import ToolOutcome
from abey.core.events import Cancel, ChildEnded, Stop
from abey.core.machine import Machine
from abey.core.session import Session
from abey.errors import AbeyError, UnknownSession
from abey.protocol.base import Timestamp
from abey.protocol.journal import Cancelled, Failed, Final, Record, Stopped
from abey.protocol.transcript import Client
from abey.runtime.agents.versions import Versions
from abey.runtime.live import Live
from abey.runtime.reviving import Entry
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions


def acting_for(parent_id: str) -> Client:
    """Who does something to a child for its parent."""
    return Client(id=parent_id, name=f"session {parent_id}", kind="abey")


class Children:
    """A ChildSessions. A child is told of its parent's end before that is recorded, and a parent of its child's end
    after."""

    def __init__(self, sessions: Sessions, versions: Versions, scheduler: Callable[[], Scheduler]) -> None:
        self._sessions = sessions
        self._versions = versions
        self._scheduler = scheduler
        self._deleted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        sessions.prepare = self._prepare

    async def _prepare(self, session: Session) -> None:
        """Whoever looks at a session sees its children as they are."""
        await self._versions.prepare(session)
        await self.look(session)

    async def look(self, session: Session, levels: int = DEEPEST) -> None:
        family: list[Entry] = []
        for call in working(session) if levels else ():
            with suppress(UnknownSession):  # it was not made yet, or was deleted
                entry = await self._sessions.entry(call.child_id or "")
                family.append(entry)
                if entry.machine is not None:
                    await self.look(entry.machine.session, levels - 1)
        parent = self._sessions.peek(session.id)
        if isinstance(parent, Live):
            parent.family = tuple([one for one in family if isinstance(one, Live)])

    def outcome(self, session: Session, call: Call) -> ToolOutcome | None:
        machine = self.machine(call.child_id or "")
        if machine is not None:
            return outcome_of(machine.session, session, call)
        return failed("the session that worked on it was deleted") if call.child_id in self._deleted else None

    def ended(self, machine: Machine) -> Mapping[str, tuple[ToolOutcome, Timestamp]]:
        """What came of the children that rest and whose calls are open, by call, and when that was known. What is in
        flight for a child tells of it by itself."""
        session, attended = machine.session, {one.call_id for one in machine.work.live}
        calls = [call for call in working(session) if call.call_id not in attended]
        found = {call.call_id: (self.outcome(session, call), self._when(call)) for call in calls}
        return {call_id: (outcome, at) for call_id, (outcome, at) in found.items() if outcome is not None}

    def _when(self, call: Call) -> Timestamp:
        machine = self.machine(call.child_id or "")
        return machine.session.updated_at if machine is not None else call.started_at or ""

    def machine(self, child_id: str) -> Machine | None:
        """The child as far as it is in memory."""
        entry = self._sessions.peek(child_id)
        return entry.machine if entry is not None else None

    def took(self, live: Live, records: Sequence[Record]) -> None:
        parent = live.machine.session.created.parent
        if parent is not None and any(isinstance(one.data, Final | Cancelled | Failed | Stopped) for one in records):
            self._do(self._tell(parent, live.id))

    def gone(self, session: Session) -> None:
        """A session was deleted; if it is a child, nobody will work on its call any more."""
        if session.created.parent is not None:
            self._deleted.add(session.id)
            self._do(self._tell(session.created.parent, session.id))

    async def end(self, parent_id: str, child_id: str) -> None:
        await asyncio.shield(self._do(self._end(parent_id, child_id)))

    async def close(self) -> None:
        """Waits for what is being told."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _do(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _tell(self, parent_id: str, child_id: str) -> None:
        """A parent that cannot be told now finds out by itself when it is loaded."""
        with suppress(AbeyError):
            parent = await self._sessions.get(parent_id)
            if any(call.child_id == child_id for call in working(parent.machine.session)):
                await self._scheduler().submit(parent, ChildEnded())

    async def _end(self, parent_id: str, child_id: str) -> None:
        with suppress(AbeyError):  # there is none, or it can take nothing: then there is nothing to end
            child = await self._sessions.get(child_id)
            if child.machine.session.created.parent != parent_id:
                return
            stops = self._stops(parent_id)
            await self._close(child, parent_id, stops=stops)
            if self._stops(parent_id) and not stops:
                await self._close(child, parent_id, stops=True)

    async def _close(self, child: Live, parent_id: str, *, stops: bool) -> None:
        """Of the turns of a child only the one that its parent asked for is cancelled."""
        client, turns = acting_for(parent_id), child.machine.session.turns
        if not stops and not turns:
            return
        event = Stop("its parent ends", client) if stops else Cancel(turns[0].turn_id, "its parent ends", client)
        await self._scheduler().submit(child, event)
        while child.machine.work.closing is not None and child.failure is None:
            await child.changed.wait()

    def _stops(self, parent_id: str) -> bool:
        parent = self.machine(parent_id)
        if parent is None:
            return False
        closing = parent.work.closing
        return parent.session.stopped or (closing is not None and closing.ending == "stop")
