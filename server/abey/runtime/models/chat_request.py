"""Requests of Chat Completions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

from abey.core.conversation import AssistantMessage, Message, ModelRequest, OfferedTool, ResultMessage, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.runtime.models.answer_forms import NAME, is_object_schema, is_strict, system_prompt
from abey.runtime.models.contents import arguments_text, result_text, tidy
from abey.runtime.models.naming import short_id, wire_id, wire_name

LONGEST_ID = 40
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def chat_request(request: ModelRequest, origin: str, host: str) -> dict[str, Any]:
    """The messages and tools of `request`, whose files are read. Raises ModelFailed for media that cannot be sent."""
    spell: Callable[[str], str] = short_id if host.endswith("mistral.ai") else lambda one: wire_id(one, LONGEST_ID)
    messages = [one for message in tidy(request.messages) for one in _messages(message, origin, spell)]
    schema = request.output_schema
    has_field = schema is not None and is_object_schema(schema)
    prompt = system_prompt(request, in_words=not has_field)
    if prompt.strip():
        messages.insert(0, {"role": "system", "content": prompt})
    body: dict[str, Any] = {"messages": messages, "stream": True}
    if not host.endswith("mistral.ai"):  # which refuses what it does not know
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [{"type": "function", "function": _tool(tool)} for tool in request.tools]
    if has_field:
        form = {"name": NAME, "schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _tool(tool: OfferedTool) -> dict[str, Any]:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": {"properties": {}, **tool.parameters, "type": "object"},
    }


def _messages(message: Message, origin: str, spell: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield {"role": "user", "content": _content(message.parts)}
        case AssistantMessage():
            yield _assistant(message, origin, spell)
        case ResultMessage():
            yield {"role": "tool", "tool_call_id": spell(message.call_id), "content": result_text(message.content)}
        case _:
            assert_never(message)


def _content(parts: tuple[Part, ...]) -> Any:
    """One text where there is nothing else: not every server takes a list."""
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n\n".join(texts) if len(texts) == len(parts) else [_part(part) for part in parts]


def _part(part: Part) -> Mapping[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case MediaPart(mime_type=mime, base64_data=str() as data) if mime.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
        case MediaPart(mime_type="application/pdf", base64_data=str() as data):
            file = {"filename": "document.pdf", "file_data": f"data:application/pdf;base64,{data}"}
            return {"type": "file", "file": file}
        case MediaPart(mime_type=mime, base64_data=str() as data) if mime in _AUDIO:
            return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[mime]}}
        case _:
            raise unsendable(part)


def unsendable(part: Part) -> ModelFailed:
    """The failure for a part that a provider has no form for."""
    what = f"type {part.mime_type}" if isinstance(part, MediaPart) else f"kind {part.kind}"
    return ModelFailed("invalid-request", f"a part of {what} cannot be sent to this provider")


def _assistant(message: AssistantMessage, origin: str, spell: Callable[[str], str]) -> dict[str, Any]:
    text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
    made: dict[str, Any] = {"role": "assistant", "content": text or None}
    if message.calls:
        made |= _thoughts(message, origin)
        made["tool_calls"] = [
            {
                "id": spell(call.call_id),
                "type": "function",
                "function": {"name": wire_name(call.tool), "arguments": arguments_text(call.arguments)},
            }
            for call in message.calls
        ]
    return made


def _thoughts(message: AssistantMessage, origin: str) -> dict[str, Any]:
    """What the same server sent of them, in its own fields. Only beside calls: some need it there, some refuse it
    anywhere else."""
    made: dict[str, Any] = {}
    for block in message.blocks:
        own = block.opaque if isinstance(block, ThinkingBlock) else None
        if not isinstance(own, dict) or own.get("origin") != origin:
            continue
        if "field" in own:
            made[own["field"]] = made.get(own["field"], "") + block.text
        if "reasoning_details" in own:
            made["reasoning_details"] = [*made.get("reasoning_details", ()), *own["reasoning_details"]]
    return made
