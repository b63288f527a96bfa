"""Sessions of one process helper that have MCP servers, without a daemon around them."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from support.processes import FakeSpool

from abey.core.agent import Tool, ToolSource
from abey.core.conversation import ToolOutcome
from abey.protocol.base import Json, sha256_hex
from abey.protocol.transcript import Question
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.mcp.servers import McpServer, McpServers
from abey.runtime.tools.sources import Place

HERE = Path(__file__).parent
RAW = [sys.executable, "-I", "-S", str(HERE / "mcp_raw.py")]
SAMPLE = [sys.executable, str(HERE / "mcp_server.py")]


def source(**entry: Any) -> ToolSource:
    """What an agent file says of a server that is called `it`."""
    more = {name: entry.pop(name) for name in ("destructive", "shell", "timeout_seconds") if name in entry}
    definition = {"kind": "mcp", "name": "it", **({"env": []} if "command" in entry else {}), **entry}
    return ToolSource("mcp_it_", definition, sha256_hex(definition), **{"timeout_seconds": 20, **more})


async def nobody(_: Question) -> Json:
    return None


@dataclass
class Desk:
    """One session, with what its calls told and asked."""

    helper: ProcessHelper
    cwd: Path
    servers: McpServers = field(init=False)
    told: list[Progress] = field(default_factory=list)
    spool: FakeSpool = field(default_factory=FakeSpool)
    ask: Callable[[Question], Awaitable[Json]] = nobody

    def __post_init__(self) -> None:
        self.servers = McpServers(self.helper, os.environ)

    async def open(self, one: ToolSource) -> McpServer:
        return await self.servers.open(one, Place("s1", str(self.cwd), {"PATH": os.environ["PATH"]}))

    def call(self, arguments: Mapping[str, Any]) -> ToolCall:
        told = self.told.append
        return ToolCall("s1", "c1", "i1", arguments, str(self.cwd), {}, lambda: self.spool, tell=told, ask=self.ask)

    async def run(self, server: McpServer, name: str, **arguments: Any) -> ToolOutcome:
        return await self.servers.run(self._tool(server, name), self.call(arguments))

    async def run_within(self, seconds: float, server: McpServer, name: str, **arguments: Any) -> ToolOutcome:
        """The same of a call that has only so much time: the server, which is there, had more to start in."""
        tool = replace(self._tool(server, name), timeout_seconds=seconds)
        return await self.servers.run(tool, self.call(arguments))

    def _tool(self, server: McpServer, name: str) -> Tool:
        return next(tool for tool in server.tools if tool.definition["tool"] == name)


@asynccontextmanager
async def listening(url: str = "") -> AsyncIterator[tuple[str, Process]]:
    """A server of the SDK over HTTP, at `url` or somewhere, and its program."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(url.rpartition(":")[2].partition("/")[0]) if url else probe.getsockname()[1]
    program = await asyncio.create_subprocess_exec(*SAMPLE, "http", str(port), stdout=DEVNULL, stderr=DEVNULL)
    try:
        while program.returncode is None:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp", program
    finally:
        with suppress(ProcessLookupError):
            program.kill()
        await program.wait()
