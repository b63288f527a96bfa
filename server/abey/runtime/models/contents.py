"""What is said, in the plain shapes that all providers share."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from abey.core.conversation import AssistantMessage, Message, UserMessage
from abey.protocol.blocks import TextBlock
from abey.protocol.transcript import MediaPart, TextPart

DEEPEST = 200
"""Levels of a call's arguments that are sent as JSON."""


def tidy(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without what providers refuse: blank texts, messages that say nothing, and, where one of those
    was left out, two messages of the user in a row."""
    tidied: list[Message] = []
    for message in messages:
        last = tidied[-1] if tidied else None
        match message:
            case AssistantMessage():
                blocks = tuple(block for block in message.blocks if not isinstance(block, TextBlock) or _says(block))
                if message.calls or any(isinstance(block, TextBlock) for block in blocks):
                    tidied.append(replace(message, blocks=blocks))
            case UserMessage() if isinstance(last, UserMessage):
                tidied[-1] = UserMessage(last.parts + message.parts)
            case _:
                tidied.append(message)
    return tuple(_saying(message) if isinstance(message, UserMessage) else message for message in tidied)


def arguments_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a call's arguments are, None where they are none."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= DEEPEST else None


def arguments_text(text: str) -> str:
    """A call's arguments as the text of a JSON object: their own, if it is one that everybody can read."""
    asked = arguments_object(text)
    if asked is None:
        return _dumped(wrapped_arguments(text))
    whole = mended(asked) if "\\u" in text else asked
    return text if whole == asked else _dumped(whole)


def wrapped_arguments(text: str) -> dict[str, Any]:
    """Arguments that are no object, in one."""
    return {"invalid_arguments": text} if text.strip() else {}


def result_parts(content: Any) -> Iterator[TextPart | MediaPart]:
    """The content of a result (protocol.md, Parts and content) as texts and media; what has no type is JSON."""
    match content:
        case str():
            yield _text(content)
        case {"type": "text", "content": str() as text}:
            yield _text(text)
        case {"type": "json", "content": value}:
            yield _text(_dumped(value))
        case {"type": "media", "mimeType": str() as mime, "base64Data": str() as data}:
            yield MediaPart(mime_type=mime, base64_data=data)
        case {"type": "mixed", "parts": list() as parts}:
            for part in parts:
                yield from result_parts(part)
        case _:
            yield _text(_dumped(content))


def result_text(content: Any) -> str:
    """The content of a result for a provider that takes nothing but text there."""
    return "\n".join(
        part.text if isinstance(part, TextPart) else f"[{part.mime_type}, which cannot be shown here]"
        for part in result_parts(content)
    )


def mended(value: Any) -> Any:
    """`value` with U+FFFD for each half of a surrogate pair, and null for what is no finite number: providers refuse
    both."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {mended(key): mended(inner) for key, inner in value.items()}
        case list() | tuple():
            return [mended(inner) for inner in value]
        case _:
            return value


def _depth(value: Any) -> int:
    """The levels of `value`, counted up to one more than DEEPEST."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        nested = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
        depth += bool(nested)
    return depth


def _text(text: str) -> TextPart:
    return TextPart(text=mended(text))


def _says(part: Any) -> bool:
    return bool(part.text.strip())


def _saying(message: UserMessage) -> UserMessage:
    parts = tuple(part for part in message.parts if not isinstance(part, TextPart) or _says(part))
    return UserMessage(parts or (TextPart(text="(nothing)"),))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
