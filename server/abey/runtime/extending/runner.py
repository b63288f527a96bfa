"""Runs calls of tools of extensions."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.core.session import Session
from abey.extensions import CapabilityError, Question, ToolError, ToolRun
from abey.extensions.wording import asked
from abey.protocol.base import Json, canonical_json
from abey.runtime.extending.foreign import in_time
from abey.runtime.extending.installed import Installed
from abey.runtime.extending.scoped import Declared
from abey.runtime.ports import Clock, Progress, ToolCall
from abey.runtime.signals import ANY_END, being_cancelled
from abey.runtime.tools.arguments import question_fault
from abey.runtime.tools.deadlines import Countdown, OutOfTime, within
from abey.runtime.tools.mcp.results import media_of, told_in_parts
from abey.runtime.tools.output import MAX_BYTES

log = logging.getLogger(__name__)

Late = Callable[[str, str], None]
"""(session id, invocation id) of a tool that was told to end and came back nevertheless: its result goes nowhere"""


@dataclass(frozen=True, slots=True)
class ExtensionRunner:
    """A ports.ToolRunner."""

    declared: Declared
    clock: Clock
    late: Late

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        extension = self.declared.extensions.named(str(tool.definition["extension"]))
        if extension is None or extension.tools.get(tool.name) != tool or call.session is None:
            return _failed("its extension is another one now, or is gone; nothing was run")
        countdown = Countdown(self.clock, tool.timeout_seconds)
        work = asyncio.ensure_future(self._content(extension, tool.name, call, call.session, countdown))
        try:
            content = await within(countdown, in_time(work, f"tool call {call.invocation_id}"))
        except asyncio.CancelledError:
            self._leave(work, call)
            raise
        except OutOfTime:
            self._leave(work, call)
            return ToolOutcome(f"[timed out after {tool.timeout_seconds:g} s]", "tool/timeout")
        except (ToolError, CapabilityError) as error:
            return await told_in_parts([{"type": "text", "content": f"tool/failed: {error}"}], "tool/failed", call)
        return await _outcome(content, call)

    def _leave(self, work: "asyncio.Task[Json]", call: ToolCall) -> None:
        """What comes of it still, or has just come, is too late."""
        if not work.cancelling():  # the call ended before anybody waited for it
            work.cancel()
        work.add_done_callback(partial(self._came, call))

    def _came(self, call: ToolCall, work: "asyncio.Task[Json]") -> None:
        if not work.cancelled():
            work.exception()
            self.late(call.session_id, call.invocation_id)

    async def _content(
        self, extension: Installed, name: str, call: ToolCall, session: Session, countdown: Countdown
    ) -> Json:
        """Raises ToolError, CapabilityError: of others only our log knows more."""
        tool = extension.tool(name)
        if tool is None:
            raise ToolError("its extension has it no longer; nothing was run")

        async def ask(question: Question) -> Json:
            question = asked(question, question_fault)
            with countdown.paused():
                return deepcopy(await call.ask(question))

        run = ToolRun(
            session=self.declared.states.info_of(session),
            call_id=call.call_id,
            arguments=call.arguments,
            capabilities=self.declared.of(extension, session),
            ask=ask,
            tell=lambda line: call.tell(Progress(message=line)),
            answer=deepcopy(call.answer),
        )
        return await _sheltered(partial(tool.run, run), call.invocation_id)


async def _sheltered(work: Callable[[], Awaitable[Json]], invocation_id: str) -> Json:
    """Whatever is raised in it ends this call alone. Raises ToolError, CapabilityError, and CancelledError where the
    call is cancelled."""
    try:
        content: Json = json.loads(canonical_json(await work()))  # as the journal gives it back
    except (ToolError, CapabilityError):
        raise
    except ANY_END as error:
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise
        log.error("tool call %s failed", invocation_id, exc_info=error)
        raise ToolError("internal error; see the daemon's log") from error
    return content


async def _outcome(content: Json, call: ToolCall) -> ToolOutcome:
    """A text that is too long is kept whole beside what is told."""
    parts = _parts(content)
    if parts is not None:
        return await told_in_parts(parts, None, call)
    text = content if isinstance(content, str) else canonical_json(content).decode("ascii")
    if len(text.encode("utf-8", "replace")) <= MAX_BYTES:
        return ToolOutcome(content)
    return await told_in_parts([{"type": "text", "content": text}], None, call)


def _parts(content: Json) -> list[dict[str, Any]] | None:
    """Of content that says its type (protocol.md, Parts and content), None of any other."""
    match content:
        case {"type": "text", "content": str()} | {"type": "json", "content": _}:
            return [content]
        case {"type": "media", "mimeType": str() as mime, "base64Data": str() as data}:
            return [media_of(mime, data)]
        case {"type": "mixed", "parts": list() as inner}:
            found = [_parts(one) for one in inner]
            return None if None in found else [part for parts in found if parts is not None for part in parts]
        case _:
            return None


def _failed(why: str) -> ToolOutcome:
    return ToolOutcome(f"tool/failed: {why}", "tool/failed")
