"""Requests of OpenAI's Responses. Nothing is kept at the provider: each request holds the whole conversation."""

import re
from collections.abc import Iterator
from typing import Any, assert_never

from abey.core.conversation import AssistantMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.runtime.models.answer_forms import NAME, is_object_schema, is_strict, system_prompt
from abey.runtime.models.chat_request import unsendable
from abey.runtime.models.contents import arguments_text, result_text, tidy
from abey.runtime.models.naming import wire_id, wire_name

LONGEST_ID = 64
_NO_REASONING = re.compile(r"(gpt-3|gpt-4|chatgpt)")


def responses_request(request: ModelRequest, origin: str, model: str) -> dict[str, Any]:
    """The messages and tools of `request`, whose files are read. Raises ModelFailed for media that cannot be sent."""
    items = [item for message in tidy(request.messages) for item in _items(message, origin)]
    body: dict[str, Any] = {"input": items, "stream": True, "store": False}
    schema = request.output_schema
    has_field = schema is not None and is_object_schema(schema)
    prompt = system_prompt(request, in_words=not has_field)
    if prompt.strip():
        body["instructions"] = prompt
    if has_field:
        form = {"type": "json_schema", "name": NAME, "schema": schema, "strict": is_strict(schema)}
        body["text"] = {"format": form}
    if not _NO_REASONING.match(model):  # these refuse the word
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": wire_name(tool.name),
                "description": tool.description,
                "parameters": {"properties": {}, **tool.parameters, "type": "object"},
                "strict": False,
            }
            for tool in request.tools
        ]
    return body


def _items(message: Message, origin: str) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield {"role": "user", "content": [_part(part) for part in message.parts]}
        case AssistantMessage():
            yield from _assistant(message, origin)
        case ResultMessage():
            call_id = wire_id(message.call_id, LONGEST_ID)
            yield {"type": "function_call_output", "call_id": call_id, "output": result_text(message.content)}
        case _:
            assert_never(message)


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "input_text", "text": part.text}
        case MediaPart(mime_type=mime, base64_data=str() as data) if mime.startswith("image/"):
            return {"type": "input_image", "image_url": f"data:{mime};base64,{data}"}
        case MediaPart(mime_type="application/pdf", base64_data=str() as data):
            file_data = f"data:application/pdf;base64,{data}"
            return {"type": "input_file", "filename": "document.pdf", "file_data": file_data}
        case _:
            raise unsendable(part)


def _assistant(message: AssistantMessage, origin: str) -> Iterator[dict[str, Any]]:
    """Texts and thoughts in their order, each thought before the call that it led to."""
    later: list[tuple[int, dict[str, Any]]] = []
    for block in message.blocks:
        match block:
            case TextBlock():
                yield {"role": "assistant", "content": block.text}
            case ThinkingBlock(opaque={"origin": from_, "item": dict() as item, "calls": int() as before}):
                if from_ == origin and before == 0:
                    yield item
                elif from_ == origin:
                    later.append((before, item))
            case ThinkingBlock():
                pass
    for at, call in enumerate(message.calls):
        yield from (item for before, item in later if before == at)
        yield {
            "type": "function_call",
            "call_id": wire_id(call.call_id, LONGEST_ID),
            "name": wire_name(call.tool),
            "arguments": arguments_text(call.arguments),
        }
