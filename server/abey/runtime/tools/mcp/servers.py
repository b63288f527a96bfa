"""Tools of kind `mcp`: a session's connections, and the calls over them."""

import asyncio
import importlib
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from abey.core.agent import Tool, ToolSource
from abey.core.conversation import ToolOutcome
from abey.protocol.base import sha256_hex
from abey.runtime.ports import ToolCall
from abey.runtime.tools.environment import tool_environment
from abey.runtime.tools.mcp.asking import UnderWay
from abey.runtime.tools.mcp.extra import is_installed, no_extra
from abey.runtime.tools.mcp.faults import Gone, Refused
from abey.runtime.tools.mcp.limit import TimeLimit
from abey.runtime.tools.mcp.listing import tools_of
from abey.runtime.tools.mcp.results import outcome_of
from abey.runtime.tools.processes import Program, Talker
from abey.runtime.tools.sources import Place, SourceFailed

if TYPE_CHECKING:
    from abey.runtime.tools.mcp.connection import Connection

CONNECT_SECONDS = 60.0
"""For a server to start and to tell its tools, where its entry does not say less."""

Connect = Callable[[], "Connection"]
_T = TypeVar("_T")


class McpServers:
    """A sources.Opener, and a ports.ToolRunner. `environment` is the daemon's."""

    def __init__(self, talker: Talker, environment: Mapping[str, str]) -> None:
        self._talker = talker
        self._environment = environment
        self._open: dict[tuple[str, str], McpServer] = {}

    async def open(self, source: ToolSource, place: Place) -> "McpServer":
        if not is_installed():
            raise SourceFailed(no_extra())
        key = (place.session_id, source.hash)
        server = McpServer(source, await self._connecting(source, place), lambda: self._forget(key, server))
        await server.renew()
        self._open[key] = server
        return server

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        server = self._open.get((call.session_id, sha256_hex(tool.definition["server"])))
        if server is None:
            return _failed("its server is not connected; nothing was run")
        return await server.run(tool, call)

    def _forget(self, key: tuple[str, str], server: "McpServer") -> None:
        if self._open.get(key) is server:
            del self._open[key]

    async def _connecting(self, source: ToolSource, place: Place) -> Connect:
        """What makes a connection. The SDK is large: a thread imports it."""
        reaching = await asyncio.to_thread(importlib.import_module, "abey.runtime.tools.mcp.reaching")
        definition = source.definition
        if "url" in definition:
            return lambda: reaching.over_http(definition["url"])
        env = tool_environment(place.env, definition["env"], self._environment)
        program = Program(tuple(definition["command"]), place.cwd, env)
        return lambda: reaching.over_stdio(self._talker, program, definition["name"])


class McpServer:
    """A sources.Renewable, and Faulty: one server for one session, connected again when it is needed and the connection
    is lost."""

    def __init__(self, source: ToolSource, connect: Connect, on_close: Callable[[], None]) -> None:
        self._source = source
        self._connect = connect
        self._on_close = on_close
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
        self._is_closed = False
        self.tools: tuple[Tool, ...] = ()
        self.faults: Mapping[str, str] = {}

    def is_current(self) -> bool:
        return self._connection is not None and not self._connection.is_lost and not self._connection.has_changed

    async def renew(self) -> None:
        async with self._turn:
            connection = self._connection
            if connection is None or connection.is_lost:
                await self._connect_again()
            elif connection.has_changed:
                await self._listed(connection)

    async def close(self) -> None:
        self._is_closed = True
        self._on_close()
        if self._connection is not None:
            await self._connection.close()

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        """Over the connection as it is, or else a new one. A call is never sent twice."""
        try:
            json.dumps(call.arguments, ensure_ascii=False).encode("utf-8")
            connection = await self._connected()
        except UnicodeEncodeError:
            return _failed("the arguments hold half a character, which no server can be sent; nothing was run")
        except SourceFailed as failed:
            return _failed(f"{failed}; nothing was run")
        if tool.hash not in (known.hash for known in self.tools if known.name == tool.name):
            return _failed("its tool is another one now than the one that was judged; nothing was run")
        limit = TimeLimit(tool.timeout_seconds)
        try:
            async with limit:
                result = await connection.call(tool.definition["tool"], call.arguments, UnderWay(call, limit))
        except TimeoutError:
            told = (
                f"[timed out after {tool.timeout_seconds:g} s; the server was told to stop, and the call may have run]"
            )
            return ToolOutcome(told, "tool/timeout")
        except Gone as gone:
            return _failed(f"{self._named} is gone ({gone}); the call may have run")
        except Refused as refused:
            return _failed(str(refused))
        return await outcome_of(result, call)

    @property
    def _named(self) -> str:
        return f"the MCP server {self._source.definition['name']}"

    async def _connected(self) -> "Connection":
        async with self._turn:
            connection = self._connection
            if connection is None or connection.is_lost:
                return await self._connect_again()
            if connection.has_changed:  # a call that waited is run only if its tool is still the same
                await self._listed(connection)
            return connection

    async def _connect_again(self) -> "Connection":
        """Raises SourceFailed. CancelledError leaves nothing behind."""
        old, self._connection = self._connection, None
        if old is not None:
            await old.close()
        if self._is_closed:
            raise SourceFailed(f"{self._named} is not needed any more")
        connection = self._connect()
        try:
            await self._within(connection.open())
            await self._listed(connection)
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        if self._is_closed:
            await connection.close()
        return connection

    async def _listed(self, connection: "Connection") -> None:
        listed = tools_of(self._source, await self._within(connection.tools()))
        self.tools, self.faults = listed.tools, listed.faults

    async def _within(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Raises SourceFailed where the server fails, or takes too long."""
        seconds = min(CONNECT_SECONDS, self._source.timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise SourceFailed(f"{self._named} does not answer within {seconds:g} s") from None
        except (Gone, Refused) as fault:
            raise SourceFailed(f"{self._named} cannot be used: {fault}") from None


def _failed(why: str) -> ToolOutcome:
    return ToolOutcome(f"tool/failed: {why}", "tool/failed")
