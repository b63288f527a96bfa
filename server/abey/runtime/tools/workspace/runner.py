"""Runs the workspace tools: each call in a thread, writes one after another."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.core.previews import Preview
from abey.protocol.diffs import FileChange
from abey.runtime.ports import ToolCall
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.workspace.definitions import READS
from abey.runtime.tools.workspace.files import content_of, preimage_of
from abey.runtime.tools.workspace.listing import listed
from abey.runtime.tools.workspace.memory import Memory
from abey.runtime.tools.workspace.paths import Own, Refused, Spot, shown, spot_of, why
from abey.runtime.tools.workspace.reading import read
from abey.runtime.tools.workspace.searching import searched
from abey.runtime.tools.workspace.writes import Seen, look, write

THREADS = 4
SECONDS = 20.0
"""That a search, or a list, may take at most."""


class WorkspaceRunner:
    """A ports.ToolRunner, and the ports.Look for what it writes."""

    def __init__(self, own: Own) -> None:
        self._own = own
        self._memory = Memory()
        self._writing = threading.Lock()
        self._threads = ThreadPoolExecutor(THREADS, "workspace")

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        """A write that has begun is ended, whoever cancels it."""
        aborted = threading.Event()
        until = time.monotonic() + min(SECONDS, tool.timeout_seconds)
        job = self._threads.submit(
            self._outcome, tool.name, call, lambda: aborted.is_set() or time.monotonic() > until, aborted
        )
        work = asyncio.wrap_future(job)
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            aborted.set()
            if not job.cancel():
                await completed(asyncio.ensure_future(asyncio.wait({work})))
            raise
        return work.result()

    def preview(self, cwd: str, tool: Tool, arguments: Mapping[str, Any]) -> Preview | None:
        """What a write would change; None for every other tool. Never raises."""
        writes = tool.kind == "workspace" and tool.name not in READS
        return look(cwd, tool.name, arguments, self._own) if writes else None

    def _outcome(self, name: str, call: ToolCall, stopped: Callable[[], bool], aborted: threading.Event) -> ToolOutcome:
        try:
            if call.isolation is not None:
                raise Refused("this tool runs in the daemon, and in no sandbox: nothing was done")
            if name in READS:
                return ToolOutcome(self._read(name, call, stopped))
            with self._writing:
                if aborted.is_set():
                    raise Refused("cancelled before it began: nothing was written")
                change = self._write(name, call)
        except Refused as refused:
            return ToolOutcome(str(refused), "tool/failed")
        except OSError as error:
            return ToolOutcome(f"{shown(str(call.arguments.get('path')))}: {why(error)}", "tool/failed")
        return ToolOutcome(_told(change), changes=(change,))

    def _read(self, name: str, call: ToolCall, stopped: Callable[[], bool]) -> Any:
        with spot_of(call.cwd, str(call.arguments.get("path") or "."), self._own) as spot:
            if name == "list_files":
                return listed(spot, call.arguments, self._own, stopped)
            if name == "search":
                return searched(spot, call.arguments, self._own, stopped)
            return self._content(spot, call)

    def _content(self, spot: Spot, call: ToolCall) -> Any:
        content = content_of(spot)
        if content is None:
            raise Refused(f"{shown(spot.path)}: there is no such file")
        self._memory.keep(call.session_id, os.path.join(spot.root, *spot.parts), preimage_of(spot, content))
        return read(spot.path, content, call.arguments)

    def _write(self, name: str, call: ToolCall) -> FileChange:
        seen = Seen(self._memory, call.session_id)
        return write(call.cwd, name, call.arguments, self._own, call.preimage, seen)


def _told(change: FileChange) -> str:
    lines = change.patch.split("\n")[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return f"{shown(change.path)}: {change.kind}, {added} lines added, {removed} removed"
