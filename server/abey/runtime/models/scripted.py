"""The scripted model: plays a script, one entry a try, and checks the history it is given (agent-file.md)."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from abey.core.conversation import AskedCall, Message, ModelAnswer, ModelRequest, UserMessage
from abey.core.once import once
from abey.errors import ModelFailed
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.config import ScriptedCall, ScriptedModel, ScriptEntry
from abey.protocol.session import Usage
from abey.protocol.transcript import TextPart
from abey.runtime.models.strictness import fault_of
from abey.runtime.ports import Clock, Delta, OnDelta

_TOKEN = re.compile(r"\s*\S+|\s+$")
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Scripted:
    """A ports.Model. The n-th try of a session plays the n-th entry; `request.tries` says which one this is."""

    def __init__(self, model: ScriptedModel, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """The entry's answer. Raises ModelFailed: the entry's error, or `invalid-request` for a faulty history."""
        fault = fault_of(request)
        if fault is not None:
            raise ModelFailed("invalid-request", fault)
        entry = self._entry(request.tries)
        text = _last_input(request.messages) if entry.echo else entry.text or ""
        if entry.delay_ms:
            await self._clock.sleep(entry.delay_ms / 1000)
        if entry.error is not None:
            wait = entry.error.retry_after_ms
            details = {} if wait is None else {"retryAfterMs": wait}
            raise ModelFailed(entry.error.code, entry.error.message or f"the script says {entry.error.code}", **details)
        await self._stream(entry, _deltas(entry, text) if entry.echo else _scripted(entry), on_delta)
        return _answer(entry, text, request.tries)

    def _entry(self, tries: int) -> ScriptEntry:
        script = self._model.script
        if tries < len(script):
            return script[tries]
        if not (self._model.loop and script):
            raise ModelFailed("invalid-request", f"the script has ended: it has {len(script)} entries")
        return script[tries % len(script)]

    async def _stream(self, entry: ScriptEntry, deltas: Iterable[Delta], on_delta: OnDelta) -> None:
        """Sends the tokens, thinking first; breaks after `cutAfter` characters of both."""
        pause = entry.chunk_ms / 1000
        for number, delta in enumerate(deltas if entry.cut_after is None else _cut(deltas, entry.cut_after)):
            if pause and number:
                await self._clock.sleep(pause)
            on_delta(delta)
        if entry.cut_after is not None:
            raise ModelFailed("transient", f"the stream broke after {entry.cut_after} characters")


def _cut(deltas: Iterable[Delta], left: int) -> Iterator[Delta]:
    """So many characters of them."""
    for delta in deltas:
        if left <= 0:
            return
        yield Delta(delta.kind, delta.text[:left])
        left -= len(delta.text)


@once
def _scripted(entry: ScriptEntry) -> Sequence[Delta]:
    """Of an entry that is no echo: a script that loops says the same again."""
    return _deltas(entry, entry.text or "")


def _deltas(entry: ScriptEntry, text: str) -> Sequence[Delta]:
    told = (("thinking", entry.thinking or ""), ("answer", text))
    return [Delta(kind, token) for kind, whole in told for token in _TOKEN.findall(whole)]


def _last_input(messages: Sequence[Message]) -> str:
    last = next(message for message in reversed(messages) if isinstance(message, UserMessage))
    return "\n".join(part.text for part in last.parts if isinstance(part, TextPart))


def _answer(entry: ScriptEntry, text: str, tries: int) -> ModelAnswer:
    reason = entry.finish_reason or ("tool_calls" if entry.calls else "stop")
    calls = tuple(_call(call, f"call_{tries + 1}_{at}") for at, call in enumerate(entry.calls, 1))
    if reason in ("content_filter", "content-filter"):
        raise ModelFailed("content-policy", "the answer was stopped by a content filter")
    if reason == "length" and calls and not _is_json(calls[-1].arguments):
        raise ModelFailed("invalid-output", "the answer was cut inside a tool call")
    thinking: tuple[Block, ...] = (ThinkingBlock(text=entry.thinking),) if entry.thinking else ()
    answer: tuple[Block, ...] = (TextBlock(text=text),) if text else ()
    return ModelAnswer(thinking + answer, calls, reason, _usage(entry))


@once
def _usage(entry: ScriptEntry) -> Usage:
    return Usage(input_tokens=entry.usage.input, output_tokens=entry.usage.output)


def _call(call: ScriptedCall, own_id: str) -> AskedCall:
    return AskedCall(own_id if call.id is None else call.id, call.tool, _arguments(call))


@once
def _arguments(call: ScriptedCall) -> str:
    return _ENCODER.encode(call.arguments) if call.raw_arguments is None else call.raw_arguments


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
