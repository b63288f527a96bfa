"""Runs tools of kind `http`: one request, its answer as the result (agent-file.md, HTTP requests)."""

import asyncio
from collections.abc import Sequence

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.runtime.models.network import Network
from abey.runtime.ports import Clock, ToolCall
from abey.runtime.tools.deadlines import Countdown, OutOfTime, within
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.http.answer import Body, Packed, Told, told
from abey.runtime.tools.http.client import REDIRECTS, CannotAsk, HttpReply, asked, origin_of, redirected
from abey.runtime.tools.http.guard import Address, Forbidden, Guard
from abey.runtime.tools.http.request import HttpRequest, request_of
from abey.runtime.tools.placeholders import BadArgument
from abey.runtime.tools.telling import kept_or_why, out_of_time, with_lines
from abey.runtime.tools.whole import WholeOutput
from abey.shared.escaping import escape_line

MOST_REDIRECTS = 5


class HttpRunner:
    """A ports.ToolRunner. Hosts that the agent file does not name go by `guard`, and through no proxy."""

    def __init__(self, network: Network, clock: Clock, guard: Guard | None = None) -> None:
        self._network = network
        self._clock = clock
        self._guard = guard or Guard()

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        try:
            request = request_of(tool.definition, tool.parameters, call.arguments)
            return await within(Countdown(self._clock, tool.timeout_seconds), self._answered(request, call))
        except (BadArgument, CannotAsk, Packed) as fault:
            return ToolOutcome(str(fault), "tool/failed")
        except Forbidden as forbidden:
            return ToolOutcome(f"not asked: {escape_line(str(forbidden))}", "tool/failed")
        except OutOfTime:
            return ToolOutcome(out_of_time(tool.timeout_seconds), "tool/timeout")

    async def _answered(self, request: HttpRequest, call: ToolCall) -> ToolOutcome:
        named = None if request.chosen else await origin_of(request)
        for _ in range(MOST_REDIRECTS + 1):
            origin = await origin_of(request)
            addresses = None
            if named is None or not named.vouches_for(origin):
                named = None  # whoever was asked meanwhile chooses also the way back
                addresses = await self._addresses(origin.host, origin.port)
            async with asked(request, self._network, addresses) as reply:
                location = reply.headers.get("location") if reply.status in REDIRECTS else None
                if location is None:
                    return await _outcome(request, reply, call)
                request = await redirected(request, reply.status, location)
        raise CannotAsk(f"it was redirected more than {MOST_REDIRECTS} times")

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            return await self._guard.addresses(host, port)
        except (OSError, UnicodeError):
            raise CannotAsk(f"there is no address of {escape_line(host)}") from None


async def _outcome(request: HttpRequest, reply: HttpReply, call: ToolCall) -> ToolOutcome:
    body = Body(reply.headers.get("content-encoding", ""))
    async for chunk in reply.chunks:
        body.add(chunk)
        if body.is_cut:
            break
    body.end()
    said = told(request.method, reply.status, reply.headers, body)
    error = "tool/failed" if reply.status >= 400 else None
    return ToolOutcome(said.content, error) if said.content is not None else await _as_text(said, error, call)


async def _as_text(said: Told, error: str | None, call: ToolCall) -> ToolOutcome:
    """With all of the text kept where the model is told less."""
    output = WholeOutput(call.spool)
    try:
        output.add(said.text.encode("utf-8"))
        text = output.text()
        whole, note = await kept_or_why(output)
        return ToolOutcome(with_lines(text, note, *said.lines), error, whole)
    finally:
        await completed(asyncio.ensure_future(output.close()))
