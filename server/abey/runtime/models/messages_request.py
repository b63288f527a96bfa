"""Requests of Anthropic's Messages."""

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from abey.core.conversation import AssistantMessage, CallMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.runtime.models.answer_forms import is_object_schema, is_strict, system_prompt
from abey.runtime.models.chat_request import unsendable
from abey.runtime.models.contents import arguments_object, result_parts, tidy, wrapped_arguments
from abey.runtime.models.naming import wire_id, wire_name

LONGEST_ID = 64
MAX_TOKENS = 8192
"""Of an answer, where the parameters say nothing: the API wants a number."""

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def messages_request(request: ModelRequest, origin: str) -> dict[str, Any]:
    """The messages and tools of `request`, whose files are read. Raises ModelFailed for media that cannot be sent."""
    messages: list[dict[str, Any]] = []
    for message in tidy(request.messages):
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        content = list(_content(message, origin))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(content)  # results come first, then what the user says
        else:
            messages.append({"role": role, "content": content})
    body: dict[str, Any] = {"messages": messages, "max_tokens": MAX_TOKENS, "stream": True}
    schema = request.output_schema
    has_field = schema is not None and is_object_schema(schema) and is_strict(schema)
    prompt = system_prompt(request, in_words=not has_field)
    if prompt.strip():
        body["system"] = prompt
    if has_field:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body | _tools(request)


def _tools(request: ModelRequest) -> dict[str, Any]:
    """The tools that are offered. With none, those of the history, which the API wants to know, and none to choose."""
    if request.tools:
        offered = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        return {"tools": [_tool(*one) for one in offered]}
    answers = [message for message in request.messages if isinstance(message, AssistantMessage)]
    names = dict.fromkeys(wire_name(call.tool) for answer in answers for call in answer.calls)
    if not names:
        return {}
    return {"tools": [_tool(name, "", {}) for name in names], "tool_choice": {"type": "none"}}


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    schema = {**parameters, "type": "object"}
    return {"name": wire_name(name), "description": description, "input_schema": schema}


def _content(message: Message, origin: str) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield from (_part(part) for part in message.parts)
        case AssistantMessage():
            for block in message.blocks:
                yield from _block(block, origin)
            yield from (_call(call) for call in message.calls)
        case ResultMessage():
            yield _result(message)
        case _:
            assert_never(message)


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case MediaPart(mime_type=mime, base64_data=str() as data) if mime in _IMAGES:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case MediaPart(mime_type="application/pdf" as mime, base64_data=str() as data):
            return {"type": "document", "source": {"type": "base64", "media_type": mime, "data": data}}
        case _:
            raise unsendable(part)


def _block(block: Block, origin: str) -> Iterator[dict[str, Any]]:
    """Thoughts go back only to who had them: a signature of somebody else is refused."""
    match block:
        case TextBlock():
            yield {"type": "text", "text": block.text}
        case ThinkingBlock(opaque={"origin": from_, "redacted": str() as data}) if from_ == origin:
            yield {"type": "redacted_thinking", "data": data}
        case ThinkingBlock(signature=str() as signature, opaque={"origin": from_}) if from_ == origin:
            yield {"type": "thinking", "thinking": block.text, "signature": signature}
        case ThinkingBlock():
            pass


def _call(call: CallMessage) -> dict[str, Any]:
    asked = arguments_object(call.arguments)
    return {
        "type": "tool_use",
        "id": wire_id(call.call_id, LONGEST_ID),
        "name": wire_name(call.tool),
        "input": wrapped_arguments(call.arguments) if asked is None else asked,
    }


def _result(message: ResultMessage) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(message.call_id, LONGEST_ID)}
    content = [
        _shown(part) for part in result_parts(message.content) if not isinstance(part, TextPart) or part.text.strip()
    ]
    if content:
        made["content"] = content
    if message.is_error:
        made["is_error"] = True
    return made


def _shown(part: TextPart | MediaPart) -> dict[str, Any]:
    if isinstance(part, MediaPart) and part.mime_type not in _IMAGES:
        return {"type": "text", "text": f"[{part.mime_type}, which cannot be shown here]"}
    return _part(part)
