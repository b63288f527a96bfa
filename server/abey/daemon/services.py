"""What every handler works with: the sessions, the scheduler, the agents, and how a session is shown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abey.core.agent import Agent
from abey.core.machine import Machine
from abey.core.replay import overdue
from abey.core.session import Session
from abey.core.views import session_view
from abey.daemon.settings import Settings
from abey.errors import AbeyError, InvalidArguments
from abey.protocol.session import Damage
from abey.protocol.session import Session as SessionView
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.live import Live
from abey.runtime.models.keys import Keys
from abey.runtime.ports import Clock
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Services:
    """One daemon's parts, shared by all its connections."""

    settings: Settings
    clock: Clock
    registry: Registry
    versions: Versions
    sessions: Sessions
    scheduler: Scheduler
    keys: Keys

    def agent_named(
        self, slug: str | None, path: str | None, config: Mapping[str, Any] | None, cwd: str
    ) -> tuple[Agent, str | None]:
        """The agent that one of these names, and its file if it has one. Raises UnknownAgent, InvalidAgent."""
        if slug is not None:
            path = str(self.registry.path_of(slug))
        if path is None:
            return self.registry.inline(config or {}, cwd), None
        if not os.path.isabs(path):
            raise InvalidArguments(f"agentFile is an absolute path, not {path!r}", errors=["agentFile is not absolute"])
        return self.registry.by_file(Path(path)), path

    def agent_of(self, machine: Machine) -> Agent | None:
        """The agent as it is now, None where no version of it is left."""
        try:
            return self.versions.latest(machine.session)
        except AbeyError:
            return None

    def agent_then(self, session: Session) -> Agent | None:
        """The agent in the version that `session` names: what its journal says is always shown with the same."""
        return self.versions.then(session)

    def now(self, machine: Machine) -> Machine:
        """The machine as it is to be shown now."""
        return Machine(overdue(machine.session, self.clock.now()), machine.work)

    def show(self, live: Live) -> SessionView:
        return self.show_machine(live.machine)

    def show_machine(self, machine: Machine, damage: Damage | None = None) -> SessionView:
        shown = session_view(self.now(machine), self.agent_of(machine))
        return shown.model_copy(update={"damaged": damage}) if damage else shown
