"""One connection to a server, from its beginning to its end.

Laws
- A call is sent once: what becomes of it where the connection ends meanwhile, nobody here can know.
- Whoever waits for the server is told when the connection ends.
"""

import asyncio
import contextvars
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import anyio
from mcp import Client, InputRequiredRoundsExceededError, MCPError, types
from mcp.client._transport import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from abey.runtime.tools.arguments import question_fault
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.mcp.asking import MOST_FIELDS, CallOver, UnderWay
from abey.runtime.tools.mcp.faults import Gone, Refused, harmless
from abey.runtime.tools.processes import CannotStart
from abey.shared.version import VERSION

PAGES = 100
"""Of one list of tools; a server that goes on has more tools than anybody offers to a model."""
LISTED_BYTES = 16 << 20
"""Of one list of tools: no page is asked for after so many."""
CLOSE_SECONDS = 3.0
"""What a server behind HTTP may take to hear that its session is over."""
log = logging.getLogger(__name__)
_under_way: contextvars.ContextVar[UnderWay | None] = contextvars.ContextVar("under_way", default=None)


class Connection:
    """Opened once, closed in any case. The SDK wants what it opens closed by the same task: that is one of its own."""

    def __init__(self, transport: Transport) -> None:
        self._client = Client(
            transport,
            client_info=types.Implementation(name="abey", version=VERSION),
            elicitation_callback=self._elicit,
            message_handler=self._hear,
            cache=None,
        )
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._why = ""
        self._calls: list[UnderWay] = []
        self._changes = 0
        self._listed = 0
        self._serving: asyncio.Task[None] | None = None

    @property
    def is_lost(self) -> bool:
        return self._over.is_set() or self._serving is None or self._serving.done()

    @property
    def has_changed(self) -> bool:
        """Whether the server has said that its tools are others now."""
        return self._changes != self._listed

    async def open(self) -> None:
        """Raises Gone, Refused. Closing is the caller's, whatever happens."""
        context = contextvars.copy_context()
        context.run(_under_way.set, None)
        self._serving = asyncio.create_task(self._serve(), context=context)
        await asyncio.shield(self._ready)

    async def tools(self) -> list[dict[str, Any]]:
        """All of them, as they are on the wire, as far as there is room. Raises Gone, Refused."""
        changes, room = self._changes, LISTED_BYTES
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        with self._told():
            for _ in range(PAGES if self._client.server_capabilities.tools else 0):
                page = await self._client.list_tools(cursor=cursor)
                found += (tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools)
                room -= sum(len(tool.model_dump_json()) for tool in page.tools)
                cursor = page.next_cursor
                if cursor is None or room <= 0:
                    break
        self._listed = changes
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any], under_way: UnderWay) -> dict[str, Any]:
        """The result, as it is on the wire. CancelledError tells the server to stop. Raises Gone, Refused."""
        self._calls.append(under_way)
        token = _under_way.set(under_way)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            under_way.progressed(progress, total, message)

        try:
            with self._told():
                result = await self._client.call_tool(tool, dict(arguments), progress_callback=progressed)
        finally:
            _under_way.reset(token)
            self._calls.remove(under_way)
            under_way.end()
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def close(self) -> None:
        """Nothing of it is left, however often the caller is cancelled."""
        self._over.set()
        await completed(asyncio.ensure_future(self._end()))

    async def _end(self) -> None:
        if self._serving is None:
            return
        if not self._ready.done():
            self._serving.cancel()
        done, _ = await asyncio.wait({self._serving}, timeout=CLOSE_SECONDS)
        if not done:
            self._serving.cancel()
            await asyncio.wait({self._serving})

    def ended(self, why: str) -> None:
        """The server ended by itself; `why` is what it said last."""
        self._why = why
        self._over.set()

    async def _serve(self) -> None:
        try:
            async with self._client:
                # a pattern in a schema of the server could keep the SDK, and with it the daemon, busy for ever
                self._client.session.validate_tool_result = _as_it_is  # type: ignore[method-assign]  # left to us
                if not self._ready.done():
                    self._ready.set_result(None)
                following = asyncio.create_task(self._follow())
                try:
                    await self._over.wait()
                finally:
                    following.cancel()
        except asyncio.CancelledError:
            pass  # nobody waits for it any more
        except Exception as fault:
            log.debug("a connection ended", exc_info=True)
            self._why = self._why or _why(fault)
        finally:
            self._over.set()
            if not self._ready.done():
                self._ready.set_exception(Gone(self._why or "it ended at once"))
                self._ready.exception()  # retrieved: who waited may have gone

    async def _follow(self) -> None:
        """A server of a newer protocol says that its tools changed only to who listens."""
        tools = self._client.server_capabilities.tools
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
            return
        with suppress(MCPError, SubscriptionLost, ListenNotSupportedError):
            async with self._client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changes += 1

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changes += 1

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        asked = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        schema = _form(asked.get("requestedSchema"))
        if schema is None:
            where = f" ({harmless(str(asked['url']))})" if "url" in asked else ""
            for one in self._asking():
                one.say(f"the server wanted more than a form{where}; it was told that nobody does that")
                break
            return types.ElicitResult(action="decline")
        for one in self._asking():
            with suppress(CallOver), self._paused():
                content = await one.ask(params.message, schema)
                action = "decline" if content is None else "accept"
                return types.ElicitResult.model_validate({"action": action, "content": content})
        return types.ElicitResult(action="cancel")

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Where nobody can tell which call asks, no call's time goes on."""
        with ExitStack() as paused:
            for call in () if _under_way.get() is not None else self._calls:
                paused.enter_context(call.paused())
            yield

    def _asking(self) -> Iterator[UnderWay]:
        """The call that asks. Where the server does not say which one that is, the oldest that asks nothing yet: and
        the next one, if it turns out to be over first."""
        own = _under_way.get()
        if own is not None:
            yield own
            return
        while self._calls:
            yield next((call for call in self._calls if not call.is_asking), self._calls[0])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with a request, as Gone or Refused."""
        try:
            yield
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or self.is_lost:
                self._over.set()
                raise Gone(self._why or harmless(error.message)) from None
            raise Refused(harmless(error.message)) from None
        except (ValidationError, InputRequiredRoundsExceededError, RuntimeError, ExceptionGroup) as fault:
            raise Refused(f"its answer makes no sense: {harmless(str(fault))}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as fault:
            self._over.set()
            raise Gone(self._why or type(fault).__name__) from None


async def _as_it_is(name: str, result: types.CallToolResult) -> None:
    """What a tool answers is for the model, whatever it said that it would be."""


def _form(schema: Any) -> dict[str, Any] | None:
    """The schema, if somebody could fill it in."""
    if not isinstance(schema, dict) or len(schema.get("properties") or ()) > MOST_FIELDS:
        return None
    return schema if question_fault(schema) is None else None


def _why(fault: BaseException) -> str:
    """The first reason of a group, in a line."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, CannotStart):
        return harmless(str(fault))
    if isinstance(fault, OSError):
        return harmless(f"it cannot be started: {fault.strerror}")
    return harmless(str(fault)) or type(fault).__name__
