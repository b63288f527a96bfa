"""Takes keys, and what was said, out of the words of others."""

from collections.abc import Iterable, Iterator
from typing import Any

from abey.core.conversation import AssistantMessage, ModelRequest, ResultMessage, UserMessage
from abey.protocol.blocks import TextBlock
from abey.protocol.transcript import TextPart

SHARED = 16
SHARED_WITH_KEY = 8
"""Characters in a row that are no coincidence."""


def without_secrets(message: str, key: str | None, request: ModelRequest) -> str:
    """`message` with `…` for the key, and for whatever it repeats of the conversation."""
    hidden = bytearray(len(message))
    texts = [(text, SHARED) for text in _texts(request)]
    for text, least in [*texts, *([(key, SHARED_WITH_KEY)] if key else [])]:
        for start, end in _shared(message, text, least):
            hidden[start:end] = b"\1" * (end - start)
    return _blanked(message, hidden)


def _shared(message: str, text: str, least: int) -> Iterator[tuple[int, int]]:
    """Where `message` has `least` or more characters in a row out of `text`, or nearly all of a shorter one."""
    step, short = least // 2, text.strip()
    if step <= len(short) < least and short in message:
        start = message.index(short)
        yield start, start + len(short)
    for at in range(0, len(message) - step + 1, step):
        if message[at : at + step] in text:
            yield from _runs_over(message, text, at, least)


def _runs_over(message: str, text: str, at: int, least: int) -> Iterator[tuple[int, int]]:
    """The runs of `least` characters that hold the half of one that begins at `at`."""
    for start in range(max(0, at - least // 2), min(at, len(message) - least) + 1):
        if message[start : start + least] in text:
            yield start, start + least


def _blanked(message: str, hidden: bytearray) -> str:
    made: list[str] = []
    for sign, hide in zip(message, hidden, strict=True):
        if not hide:
            made.append(sign)
        elif not made or made[-1] != "…":
            made.append("…")
    return "".join(made)


def _texts(request: ModelRequest) -> Iterator[str]:
    yield request.system_prompt
    for message in request.messages:
        match message:
            case UserMessage():
                yield from (part.text for part in message.parts if isinstance(part, TextPart))
            case AssistantMessage():
                yield from (block.text for block in message.blocks if isinstance(block, TextBlock))
                yield from (call.arguments for call in message.calls)
            case ResultMessage():
                yield from _strings(message.content)


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
