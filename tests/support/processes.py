"""Programs that tests run as tools: how to run one, and which of its processes are still there."""

import asyncio
import errno
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.protocol.journal import BlobRef
from abey.runtime.agents.registry import Registry
from abey.runtime.ports import Spool, ToolCall, ToolRunner

DEADLINE_SECONDS = 20


def command_tool(argv: list[str], **members: Any) -> Tool:
    """A resolved tool of kind `command`."""
    written = {"kind": "command", "name": "tool", "argv": argv, **members}
    config = {"slug": "a", "model": {"provider": "scripted", "script": []}, "tools": [written]}
    return Registry(Path("/nonexistent")).inline(config, None).tools["tool"]


class FakeSpool:
    """A Spool in memory; the method that `fails` names finds a full disk."""

    def __init__(self, fails: str = "", limit: int = 1 << 40) -> None:
        self.data = bytearray()
        self.done: list[str] = []
        self.fails = fails
        self.limit = limit

    def write(self, data: bytes) -> bool:
        self._do("write")
        self.data += data[: self.limit - len(self.data)]
        return len(self.data) < self.limit

    def keep(self) -> BlobRef:
        self._do("keep")
        return BlobRef(sha256=hashlib.sha256(self.data).hexdigest(), bytes=len(self.data))

    def drop(self) -> None:
        self._do("drop")

    def _do(self, name: str) -> None:
        self.done.append(name)
        if name == self.fails:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def call_of(
    arguments: Mapping[str, Any],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    spool: Callable[[], Spool] = FakeSpool,
) -> ToolCall:
    return ToolCall("s1", "c1", "i1", arguments, str(cwd), {"PATH": os.environ["PATH"], **(env or {})}, spool)


async def run_shell(runner: ToolRunner, script: str, cwd: Path, spool: Callable[[], Spool] = FakeSpool) -> ToolOutcome:
    return await runner.run(command_tool(["sh", "-c", script]), call_of({}, cwd, spool=spool))


def alive(mark: str) -> list[int]:
    """The processes that have `mark` as an argument of their own, zombies aside."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended while we looked
            continue
        if mark.encode() in arguments:
            found.append(int(name))
    return found


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what happens in other processes."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110  what is waited for knows of no event
            await asyncio.sleep(0.005)
