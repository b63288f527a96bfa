"""What decorators do around the run of a tool (agent-file.md, Decorators): the outer ones first."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import assert_never

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.protocol.base import Json, canonical_json
from abey.protocol.journal import BlobRef
from abey.protocol.policy import AnyDecorator, Cache, Label, Retries, Timeout, Truncate
from abey.protocol.transcript import Question
from abey.runtime.ports import Clock, Progress, Spool, ToolCall
from abey.runtime.tools.deadlines import Countdown, OutOfTime, within
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.telling import not_kept, with_lines
from abey.shared.values import dataclass, replace

CACHED = 256
"""Results that are remembered, of all sessions together; of more, those that were used last."""

CACHED_BYTES = 256 * 1024
"""A result that is longer is not remembered."""

Run = Callable[[ToolCall], Awaitable[ToolOutcome]]


@dataclass(frozen=True, slots=True)
class Decorated:
    """A call of a tool, and how it is run where nothing is around it. `since` is when its session began: one that was
    deleted may have had the same id."""

    tool: Tool
    call: ToolCall
    run: Run
    since: str = ""


class Decorating:
    """Remembers results, in memory, for `cache`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cached: OrderedDict[bytes, ToolOutcome] = OrderedDict()

    async def outcome(self, decorated: Decorated, decorators: Sequence[AnyDecorator]) -> ToolOutcome:
        """CancelledError ends what runs inside first."""
        run = decorated.run
        for decorator in reversed(decorators):
            run = partial(self._around, decorator, decorated, run)
        return await run(decorated.call)

    async def _around(self, decorator: AnyDecorator, decorated: Decorated, run: Run, call: ToolCall) -> ToolOutcome:
        match decorator:
            case Timeout():
                return await self._in_time(decorator.seconds, run, call)
            case Retries():
                return await _tried(decorator.count, run, call)
            case Cache():
                return await self._remembered(decorator.key, decorated, run, call)
            case Truncate():
                return await _truncated(decorator.max_bytes, call, await run(call))
            case Label():
                return await run(call)
            case _:
                assert_never(decorator)

    async def _in_time(self, seconds: float, run: Run, call: ToolCall) -> ToolOutcome:
        """The time stands still while a person is asked: they may take days."""
        countdown = Countdown(self._clock, seconds)

        async def ask(question: Question) -> Json:
            with countdown.paused():
                return await call.ask(question)

        try:
            return await within(countdown, _coroutine(run, replace(call, ask=ask)))
        except OutOfTime:
            return ToolOutcome(f"tool call timed out after {seconds:g}s", "tool/timeout")

    async def _remembered(self, key: str, decorated: Decorated, run: Run, call: ToolCall) -> ToolOutcome:
        """A failure is not remembered, nor is what changed files: a call that said so again would have changed none. A
        call of another session, tool, definition or with other arguments is another one, and so is one that had
        another answer before it ran."""
        tool, session = decorated.tool, [call.session_id, decorated.since]
        whole = canonical_json([session, key, tool.name, tool.hash, call.cwd, dict(call.arguments), call.answer])
        known = self._cached.get(whole)
        if known is not None:
            self._cached.move_to_end(whole)
            call.tell(Progress(message="the result of an earlier call with the same arguments"))
            return known
        outcome = await run(call)
        if not outcome.failed and not outcome.changes and len(_text_of(outcome)) <= CACHED_BYTES:
            self._cached[whole] = outcome
            if len(self._cached) > CACHED:
                self._cached.popitem(last=False)
        return outcome


async def _coroutine(run: Run, call: ToolCall) -> ToolOutcome:
    return await run(call)


async def _tried(count: int, run: Run, call: ToolCall) -> ToolOutcome:
    """The outcome of the first try that does not fail, else of the last one, after at most `count` more."""
    outcome = await run(call)
    for again in range(count):
        if not outcome.failed:
            break
        call.tell(Progress(message=f"it failed; this is try {again + 2} of {count + 1}"))
        outcome = await run(call)
    return outcome


async def _truncated(most: int, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
    """At most `most` bytes of UTF-8 of the content, no character cut, and a line that says so; all of it is kept."""
    data = _text_of(outcome).encode("utf-8", "replace")
    if len(data) <= most:
        return outcome
    content = with_lines(data[:most].decode("utf-8", "ignore"), f"[truncated: result exceeded {most} bytes]")
    if outcome.whole is not None:
        return replace(outcome, content=content)
    try:
        return replace(outcome, content=content, whole=await _kept(call.spool(), data))
    except OSError as error:
        return replace(outcome, content=with_lines(content, not_kept(error)))


def _text_of(outcome: ToolOutcome) -> str:
    return outcome.content if isinstance(outcome.content, str) else canonical_json(outcome.content).decode("ascii")


async def _kept(spool: Spool, data: bytes) -> BlobRef:
    """The blob of `data`. Raises OSError."""
    # a thread cannot be cancelled: whoever is waits for it
    work = asyncio.ensure_future(asyncio.to_thread(_spooled, spool, data))
    await completed(work)
    return work.result()


def _spooled(spool: Spool, data: bytes) -> BlobRef:
    try:
        spool.write(data)
        return spool.keep()
    finally:
        spool.drop()
