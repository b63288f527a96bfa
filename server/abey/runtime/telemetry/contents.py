"""What was said, as the GenAI conventions write it: JSON, in an attribute."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from abey.core.conversation import AskedCall, AssistantMessage, CallMessage, Message, ModelAnswer, ResultMessage
from abey.protocol.blocks import Block, TextBlock
from abey.protocol.transcript import FilePart, MediaPart, Part, TextPart
from abey.runtime.models.contents import mended


def instructions(text: str) -> str:
    return _json([{"type": "text", "content": text}])


def said_to(messages: Sequence[Message]) -> str:
    """What a model is sent."""
    return _json([_message(message) for message in messages])


def said_by(answer: ModelAnswer) -> str:
    """What it has answered."""
    parts = [*map(_block, answer.blocks), *(_call(call.id, call) for call in answer.calls)]
    return _json([{"role": "assistant", "parts": parts, "finish_reason": answer.finish_reason}])


def arguments(value: Mapping[str, Any]) -> str:
    return _json(dict(value))


def result(content: Any) -> str:
    return str(mended(content)) if isinstance(content, str) else _json(content)


def _message(message: Message) -> dict[str, Any]:
    match message:
        case AssistantMessage():
            calls = (_call(call.call_id, call) for call in message.calls)
            return {"role": "assistant", "parts": [*map(_block, message.blocks), *calls]}
        case ResultMessage():
            part = {"type": "tool_call_response", "id": message.call_id, "response": message.content}
            return {"role": "tool", "parts": [part]}
        case _:
            return {"role": "user", "parts": [_part(part) for part in message.parts]}


def _part(part: Part) -> dict[str, Any]:
    """Of a file and of what is no text only what it is: it may be large."""
    match part:
        case TextPart():
            return {"type": "text", "content": part.text}
        case FilePart():
            return {"type": "uri", "modality": "text", "uri": part.path}
        case MediaPart():
            return {"type": "blob", "mime_type": part.mime_type}


def _block(block: Block) -> dict[str, Any]:
    return {"type": "text" if isinstance(block, TextBlock) else "reasoning", "content": block.text}


def _call(call_id: str, call: CallMessage | AskedCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": call.tool, "arguments": call.arguments}


def _json(value: Any) -> str:
    """In ASCII: half a surrogate pair, which a model may say, is nothing that can be sent. What is nested too deep is
    left out: whoever works does not fail for who looks on."""
    try:
        return json.dumps(value, default=str)
    except (ValueError, RecursionError):
        return "null"
