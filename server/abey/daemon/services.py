"""What every handler works with: the sessions, the scheduler, the agents, and how a session is shown."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from abey.core.agent import Agent
from abey.core.call import Call
from abey.core.child_views import pending_with_children
from abey.core.children import settled
from abey.core.machine import Machine, Work
from abey.core.pending_views import pending_with_output
from abey.core.replay import overdue
from abey.core.session import Session, open_calls
from abey.core.views import session_view
from abey.daemon.settings import Settings
from abey.errors import AbeyError, InvalidArguments
from abey.protocol.session import Damage
from abey.protocol.session import Session as SessionView
from abey.protocol.transcript import Pending
from abey.rpc.peer import Peer
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.agents.workspaces import Lent
from abey.runtime.children import Children
from abey.runtime.laws import Lawgiving
from abey.runtime.live import Live
from abey.runtime.models.keys import Keys
from abey.runtime.ports import Clock, Toolbox
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions

LOOKING_SECONDS = 2.0
"""Who only looks at a session waits so long, at most, for tools that are not known yet."""


class Named(NamedTuple):
    """An agent, its file if it has one, and the workspace in which that was found by its slug."""

    agent: Agent
    path: str | None = None
    workspace: str | None = None


def lent_by(peer: Peer) -> Lent:
    """The folders that a client trusts for as long as it is connected."""
    return peer.editor.folders if peer.options.workspace_trusted else ()


@dataclass(frozen=True, slots=True)
class Services:
    """One daemon's parts, shared by all its connections; `impatient` once somebody has waited in vain for tools."""

    settings: Settings
    clock: Clock
    registry: Registry
    versions: Versions
    sessions: Sessions
    scheduler: Scheduler
    keys: Keys
    children: Children
    laws: Lawgiving
    toolbox: Toolbox
    impatient: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def agent_named(
        self, slug: str | None, path: str | None, config: Mapping[str, Any] | None, cwd: str, lent: Lent
    ) -> Named:
        """The agent that one of these names, in a folder and for a client with what that trusts. Reads files. Raises
        UnknownAgent, InvalidAgent."""
        if slug is not None:
            found = self.registry.find(slug, cwd, lent)
            where = None if found.workspace is None else str(found.workspace)
            return Named(self.registry.by_file(found.path), str(found.path), where)
        if path is None:
            return Named(self.registry.inline(config or {}, cwd))
        if not os.path.isabs(path):
            raise InvalidArguments(f"agentFile is an absolute path, not {path!r}", errors=["agentFile is not absolute"])
        return Named(self.registry.by_file(Path(path)), path)

    def agent_of(self, machine: Machine) -> Agent | None:
        """The agent as it is now, None where no version of it is left."""
        try:
            return self.versions.latest(machine.session)
        except AbeyError:
            return None

    def equipped(self, machine: Machine) -> Agent | None:
        """The same with all its tools, as far as they are known since the daemon has started."""
        agent = self.agent_of(machine)
        return None if agent is None else self.toolbox.equip(agent, machine.session)

    async def with_tools(self, agent: Agent, tools: Iterable[str]) -> Agent:
        """The agent with the tools that every session has, where one of these tools is none of its own: who gives them
        is not asked before that matters, and nobody waits long to be shown something."""
        if not all(tool in agent.tools for tool in tools):
            try:
                async with asyncio.timeout(0 if self.impatient.is_set() else LOOKING_SECONDS):
                    return await self.toolbox.begin(agent)
            except TimeoutError:
                self.impatient.set()
        return agent

    async def _prepare(self, machine: Machine) -> None:
        """What it takes to show all of the calls that wait, also right after the start of the daemon."""
        agent = self.agent_of(machine)
        if agent is not None:
            await self.with_tools(agent, (call.tool for call in open_calls(machine.session)))

    async def look(self, session_id: str) -> tuple[Machine, Damage | None]:
        """A session that is to be shown, and what is wrong with it. Raises UnknownSession, SessionDamaged."""
        await self._prepare((await self.sessions.look(session_id))[0])
        return await self.sessions.look(session_id)  # it may have moved on

    def agent_then(self, session: Session) -> Agent | None:
        """The agent in the version that `session` names: what its journal says is always shown with the same."""
        return self.versions.then(session)

    def now(self, machine: Machine) -> Machine:
        """The machine as it is to be shown now."""
        if not any(map(_may_have_ended, open_calls(machine.session))):
            return machine
        session = overdue(machine.session, self.clock.now())
        return Machine(settled(session, self.children.ended(machine)), machine.work)

    def show(self, live: Live) -> SessionView:
        return self.show_machine(live.machine)

    def show_machine(self, machine: Machine, damage: Damage | None = None) -> SessionView:
        agent = self.equipped(machine)
        shown = session_view(self.now(machine), agent)
        pending, missing = self.with_output(machine.session.id, shown.pending), _missing(agent)
        if pending == shown.pending and missing is None and damage is None:
            return shown
        return shown.model_copy(update={"pending": pending, "missing_tools": missing, "damaged": damage})

    def with_output(self, session_id: str, pending: Sequence[Pending]) -> tuple[Pending, ...]:
        """Pending calls of a session with what they have printed so far, and what their children wait for, as far as
        that is in memory."""
        if not pending:
            return ()
        entry = self.sessions.peek(session_id)
        if not isinstance(entry, Live):
            return pending_with_children(pending, Work(), self.children.machine)
        printed = pending_with_output(pending, entry.printed())
        return pending_with_children(printed, entry.machine.work, self.children.machine)


def _may_have_ended(call: Call) -> bool:
    """By time, or with the child that works on it."""
    return call.child_id is not None or (call.verdict is not None and call.verdict.expires_at is not None)


def _missing(agent: Agent | None) -> dict[str, str] | None:
    """The tools that the session goes on without, by name or by what their names begin with, and why: as far as its
    sources were asked since it is in memory."""
    return None if agent is None else dict(agent.missing) or None
