"""Agents that ask other agents: their children, and what runs their calls."""

from collections.abc import Callable

from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.children import Children
from abey.runtime.models.keys import Keys
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions
from abey.runtime.store.store import Store
from abey.runtime.tools.agent import AgentRunner, House


class Families:
    """The `scheduler` is there once the daemon is made."""

    def __init__(
        self,
        sessions: Sessions,
        versions: Versions,
        registry: Registry,
        keys: Keys,
        store: Store,
        scheduler: Callable[[], Scheduler],
    ) -> None:
        self.children = Children(sessions, versions, scheduler)
        self.runner = AgentRunner(House(sessions, scheduler, versions, registry, keys, store, self.children))
