"""Runs calls of other agents: each in a session of its own, that is made once and driven until its turn ends."""

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.call import Call
from abey.core.children import DEEPEST, depth, failed, outcome_of, policies_above, working
from abey.core.conversation import ToolOutcome
from abey.core.effects import EndRun
from abey.core.titles import title_of
from abey.errors import (
    AbeyError,
    InvalidAgent,
    InvalidState,
    PermissionDenied,
    SessionBusy,
    UnknownAgent,
    UnknownSession,
)
from abey.protocol.journal import Created
from abey.protocol.policy import Policy
from abey.protocol.transcript import TextPart
from abey.runtime.agents.children import agent_named
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.child_sessions import ChildRests
from abey.runtime.children import Children, acting_for
from abey.runtime.live import Live
from abey.runtime.models.keys import Keys
from abey.runtime.ports import ToolCall
from abey.runtime.scheduler import Scheduler, Submitted
from abey.runtime.sessions import Sessions
from abey.runtime.store.store import Store


@dataclass(frozen=True, slots=True)
class House:
    """What making and driving a session takes."""

    sessions: Sessions
    scheduler: Callable[[], Scheduler]
    versions: Versions
    registry: Registry
    keys: Keys
    store: Store
    children: Children


class AgentRunner:
    """A ToolRunner. Of the children of one session at most `limits.maxConcurrency` of its agent work at a time, not
    counting those that wait for somebody; the others are made when it is their turn."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._rooms: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        """Raises ChildRests; CancelledError ends the turn of the child first."""
        house = self._house
        parent = await house.sessions.get(call.session_id)
        work = _Work(house, parent, tool, call)
        room = self._rooms.get(parent.id)
        if room is None:
            room = self._rooms[parent.id] = asyncio.Semaphore(parent.agent.limits.max_concurrency)
        try:
            return await work.done(room)
        except asyncio.CancelledError:
            if parent.failure is None:
                await house.children.end(parent.id, work.child_id)
            raise
        except UnknownSession:
            return failed("the session that worked on it was deleted")
        except AbeyError as error:
            raise ChildRests(error.message) from error


class _Work:
    """One call and its child."""

    def __init__(self, house: House, parent: Live, tool: Tool, call: ToolCall) -> None:
        self._house = house
        self._parent = parent
        self._tool = tool
        self._call = call
        self._begun: Submitted | None = None
        self.child_id = call.child_id or ""

    async def done(self, room: asyncio.Semaphore) -> ToolOutcome:
        async with room:
            made = await self._child()
            if isinstance(made, ToolOutcome):
                return made
            if (outcome := await self._driven(made, self._first_run())) is not None:
                return outcome
        outcome = await self._driven(made, e.UNTIL_TURN)
        if outcome is None:
            raise ChildRests
        return outcome

    async def _driven(self, child: Live, run: e.Run) -> ToolOutcome | None:
        """What came of the child, None where it waits for somebody and the run does not. Raises ChildRests."""
        while (outcome := self._outcome(child)) is None:
            end = await self._run(child, run)
            if self._outcome(child) is not None:
                continue
            if end is not None and end.outcome != "waiting":
                raise ChildRests
            if end is not None and not run.patient:
                return None
            if _is_driven(child):
                await child.changed.wait()
        return outcome

    async def _run(self, child: Live, run: e.Run) -> EndRun | None:
        """How the run ended; None where somebody else drives the child right now."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            return await _end_of(begun)
        self._house.keys.lend(self._parent.id, self.child_id)
        drive = e.Drive(run, acting_for(self._parent.id))
        with suppress(SessionBusy):
            return await _end_of(await self._house.scheduler().submit(child, drive))
        return None

    def _outcome(self, child: Live) -> ToolOutcome | None:
        call = self._recorded()
        return None if call is None else outcome_of(child.machine.session, self._parent.machine.session, call)

    def _recorded(self) -> Call | None:
        calls = working(self._parent.machine.session)
        return next((one for one in calls if one.call_id == self._call.call_id), None)

    async def _child(self) -> Live | ToolOutcome:
        """The child, made now if it was not; or why there is none."""
        while True:
            with suppress(UnknownSession):
                if not await self._house.sessions.left_over(self.child_id):
                    return await self._house.sessions.get(self.child_id)
                await self._clear()
            if await self._was_deleted():
                return failed("the session that worked on it was deleted")
            with suppress(InvalidState):  # somebody looks for it, or has just made one of that id
                return await self._made()

    async def _clear(self) -> None:
        """What a crash has left of a child that was being made is no session."""
        house = self._house
        async with house.sessions.away(self.child_id):
            await asyncio.to_thread(house.store.delete, self.child_id, self._parent.machine.session.updated_at)
            house.sessions.forget(self.child_id)

    async def _was_deleted(self) -> bool:
        trashed = await asyncio.to_thread(self._house.store.trashed)
        found = [one for one in trashed if one.session_id == self.child_id]
        return bool(found) and await asyncio.to_thread(self._house.store.revision_of, found[-1]) > 0

    async def _made(self) -> Live | ToolOutcome:
        """Raises InvalidState where there is a session of that id, or somebody looks for it."""
        parent, house = self._parent.machine.session, self._house
        if depth(parent) >= DEEPEST:
            return failed(f"{DEEPEST} agents have called one another already, and this one may call no further one")
        try:
            agent, found = await house.registry.aside.run(agent_named, house.registry, self._tool, parent.created)
        except (UnknownAgent, InvalidAgent, PermissionDenied) as error:
            return failed(error.message)
        parts = (TextPart(text=str(self._call.arguments.get("prompt", ""))),)
        created = Created(
            session_id=self.child_id,
            agent=agent.slug,
            agent_file=str(found.path),
            workspace=None if found.workspace is None else str(found.workspace),
            config=agent.config,
            config_hash=agent.config_hash,
            cwd=parent.created.cwd,
            title=title_of(parts) or agent.slug,
            env=parent.created.env,
            client=acting_for(parent.id),
            parent=parent.id,
            parent_call=self._call.call_id,
            parent_policies=self._policies(),
            depth=depth(parent) + 1,
        )
        event = e.Start(created, e.NewInput(parts), self._first_run())
        house.keys.lend(parent.id, self.child_id)
        self._begun = await house.scheduler().start(event, agent)
        return self._begun.live

    def _first_run(self) -> e.Run:
        """Where the parent's run waits for nobody, neither does that of its child."""
        active = self._parent.machine.work.run
        return replace(e.THIS_TURN, synchronous=active is not None and active.run.synchronous)

    def _policies(self) -> tuple[Policy | None, ...]:
        """That of the agent that asked, as it is and as it was when the call was judged, and of those above it."""
        session, call = self._parent.machine.session, self._recorded()
        judged = call.verdict.config_hash if call is not None and call.verdict is not None else ""
        then = self._house.versions.find(session, judged)
        now = self._parent.agent.policy
        own = (now,) if then is None or then.policy == now else (now, then.policy)
        return (*own, *policies_above(session))


async def _end_of(submitted: Submitted) -> EndRun | None:
    return None if submitted.run is None else await submitted.run


def _is_driven(child: Live) -> bool:
    return child.machine.work.run is not None or child.machine.work.activity != "idle"
