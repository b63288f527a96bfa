"""From the shapes of a portable transcript to what a session and a model know (machine.md, Seeds)."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from abey.core.conversation import AssistantMessage, CallMessage, Message, ResultMessage, UserMessage
from abey.core.titles import title_of
from abey.protocol import seeds as s
from abey.protocol.base import Json
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.transcript import MediaPart, Part, TextPart

CANCELLED = "tool.cancelled"
"""The code of a result that says that its call was cancelled."""


def entries_of(transcript: Json) -> tuple[s.SeedEntry, ...]:
    """A transcript, read. Raises ValidationError, with the places of all that is wrong.

    Entry by entry: other threads would wait for a whole one.
    """
    whole, one = _readers()
    if not isinstance(transcript, list):
        return whole.validate_python(transcript)
    try:
        return tuple(one.validate_python(entry) for entry in transcript)
    except ValidationError:
        return whole.validate_python(transcript)


@cache
def _readers() -> tuple[TypeAdapter[tuple[s.SeedEntry, ...]], TypeAdapter[s.SeedEntry]]:
    """Of a transcript and of an entry. Made when the first is read: it takes milliseconds."""
    return TypeAdapter(tuple[s.SeedEntry, ...]), TypeAdapter(s.SeedEntry)


def parts_of(event: s.MessageEvent) -> tuple[Part, ...]:
    """What the user says, as we have it."""
    if event.text is not None:
        return (TextPart(text=event.text),)
    return event.parts if event.parts is not None else tuple(_part(one) for one in event.content or ())


def blocks_of(candidate: s.ModelCandidate) -> tuple[Block, ...]:
    """What the model says, without its calls."""
    return tuple(_block(one) for one in candidate.output if not isinstance(one, s.CallOutput))


def calls_of(candidate: s.ModelCandidate) -> tuple[CallMessage, ...]:
    """The calls of an answer, in its order."""
    found = (one for one in candidate.output if isinstance(one, s.CallOutput))
    return tuple(CallMessage(one.id, one.name, plain_text(one.args) if one.raw is None else one.raw) for one in found)


def plain_text(value: Json) -> str:
    """The spelling of a JSON value that needs no `raw`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def content_of(result: s.CompletedResult | s.DeniedResult | s.FailedResult) -> Json:
    """What the model is told of a result: content as protocol.md has it."""
    match result:
        case s.CompletedResult(output={"type": "text", "content": str(text), **rest}) if not rest:
            return text
        case s.CompletedResult(output={"type": "json", "content": value, **rest}) if not rest and not is_typed(value):
            return value
        case s.CompletedResult():
            return result.output
        case s.DeniedResult():
            return result.reason
        case s.FailedResult():
            return result.output if result.output is not None else result.message or result.code


def is_typed(content: Json) -> bool:
    """Whether content says what it is, as a tool response does."""
    return isinstance(content, dict) and content.get("type") in ("text", "json", "media", "mixed")


def first_words(seed: s.Seed) -> str:
    """The first line that the user said in the transcript, as far as it fits; empty where there is none."""
    events = (entry.event for entry in entries_of(seed.transcript) if isinstance(entry, s.SeedInput))
    titles = (title_of(parts_of(event)) for event in events if isinstance(event, s.MessageEvent))
    return next((title for title in titles if title), "")


def messages_of(told: Iterable[s.SeedEntry]) -> tuple[Message, ...]:
    """What a model is sent of entries, each as it came, whether or not they make sense together."""
    return tuple(message for entry in told for message in _messages(entry))


def final_text(output: Json) -> str:
    """The text of a final answer."""
    return output if isinstance(output, str) else plain_text(output)


def _messages(entry: Any) -> tuple[Message, ...]:
    match entry:
        case s.SeedInput(event=s.MessageEvent() as event):
            return (UserMessage(parts_of(event)),)
        case s.SeedCandidate(candidate=candidate):
            return (AssistantMessage(blocks_of(candidate), calls_of(candidate)),)
        case s.SeedResults(results=results):
            return tuple(_result(one) for one in results)
        case _:
            return ()


def _result(result: s.CompletedResult | s.DeniedResult | s.FailedResult) -> ResultMessage:
    completed = isinstance(result, s.CompletedResult)
    return ResultMessage(result.call_id, result.tool_name or "", content_of(result), not completed)


def _part(content: s.TextContent | s.MediaContent) -> Part:
    match content:
        case s.TextContent():
            return TextPart(text=content.text)
        case s.MediaContent(media_type=kind, reference={"base64Data": str(data), **rest}) if not rest:
            return MediaPart(mime_type=kind, base64_data=data)
        case s.MediaContent(media_type=kind, reference={"path": str(path), **rest}) if not rest:
            return MediaPart(mime_type=kind, path=path)
        case s.MediaContent():
            return TextPart(text=f"[{content.media_type}, which is not here]")


def _block(output: s.TextOutput | s.ReasoningOutput | s.JsonOutput) -> Block:
    match output:
        case s.TextOutput():
            return TextBlock(text=output.text)
        case s.ReasoningOutput():
            return ThinkingBlock(text=output.text, signature=output.signature, opaque=output.opaque)
        case s.JsonOutput():
            return TextBlock(text=plain_text(output.value))
