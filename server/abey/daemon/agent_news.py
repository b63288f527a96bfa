"""Tells clients of agent files that changed (protocol.md, Notifications)."""

import asyncio
import logging
from collections.abc import Callable

from abey.protocol.notifications import ConfigChanged, FileDiagnostics
from abey.protocol.queries import AgentListing
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.watching import Watching
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)


class AgentNews:
    """`tell` is given what is so after each change that makes a difference."""

    def __init__(self, registry: Registry, tell: Callable[[ConfigChanged], None]) -> None:
        self._registry = registry
        self._tell = tell
        self._last: tuple[AgentListing, ...] = ()
        self._watching = Watching(registry.stamps, registry.folders, self._changed)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._last = self._registry.list().items
        self._task = asyncio.create_task(self._watching.run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _changed(self) -> None:
        items = self._registry.list().items
        if items == self._last:
            return
        for item in items:
            if item not in self._last:
                log.info("agent file %s is %s", escape_line(item.path), item.state)
        self._last = items
        wrong = (FileDiagnostics(path=one.path, diagnostics=one.diagnostics) for one in items if one.diagnostics)
        self._tell(ConfigChanged(items=items, diagnostics=tuple(wrong)))
