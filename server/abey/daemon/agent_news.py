"""Tells clients of agent files that changed (protocol.md, Notifications)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from abey.daemon.services import lent_by
from abey.protocol.notifications import CONFIG_CHANGED, ConfigChanged, FileDiagnostics
from abey.protocol.queries import AgentListing, AgentListResult
from abey.rpc.peer import Peer
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.watching import Watch, Watching, watch_folders
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)

View = tuple[tuple[Path, ...], tuple[Path, ...]]
"""On which folders a list of agents depends: those that a client has open, and those that it trusts."""
NOBODY: View = ((), ())


class AgentNews:
    """After each change that makes a difference each of the `peers` hears what it would be listed now; who subscribed
    at the registry is told, too. Files are looked at aside."""

    def __init__(self, registry: Registry, peers: Callable[[], Sequence[Peer]], watch: Watch = watch_folders) -> None:
        self._registry = registry
        self._peers = peers
        self._last: dict[View, AgentListResult] = {}
        self._watching = Watching(registry.stamps, registry.folders, self._changed, registry.aside, watch)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._run(self._watching.run())

    def joined(self, peer: Peer) -> asyncio.Task[None]:
        """What it could be listed now is no news to it. The task ends when that is known."""
        return self._run(self._remember(_view_of(peer)))

    def look(self) -> None:
        """Something else than a file has changed: which of them count."""
        self._watching.hint()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _remember(self, view: View) -> None:
        if view not in self._last:
            listed = await self._listed(view)
            self._last.setdefault(view, listed)

    async def _changed(self) -> None:
        last, self._last = self._last, {}
        views = {peer.id: (peer, _view_of(peer)) for peer in self._peers()}
        for view in (NOBODY, *(view for _, view in views.values())):
            if view not in self._last:
                self._last[view] = await self._listed(view)
        for peer, view in views.values():
            if last and self._last[view] != last.get(view):
                _tell(peer, self._last[view].items)
        if _log(last, self._last):
            self._registry.changed()

    async def _listed(self, view: View) -> AgentListResult:
        return await self._registry.aside.run(self._registry.list_in, *view)


def _view_of(peer: Peer) -> View:
    return peer.editor.folders, tuple(lent_by(peer))


def _tell(peer: Peer, items: tuple[AgentListing, ...]) -> None:
    if not peer.plain:
        wrong = (FileDiagnostics(path=one.path, diagnostics=one.diagnostics) for one in items if one.diagnostics)
        peer.notify(CONFIG_CHANGED, ConfigChanged(items=items, diagnostics=tuple(wrong)).wire())


def _log(last: Mapping[View, AgentListResult], now: Mapping[View, AgentListResult]) -> bool:
    """Whether anything is new, by file; nothing is at the first look."""
    before, after = ({item.path: item for listed in some.values() for item in listed.items} for some in (last, now))
    if not last or before == after:
        return False
    for path, item in after.items():
        if before.get(path) != item:
            log.info("agent file %s is %s", escape_line(path), item.state)
    return True
