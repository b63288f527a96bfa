"""What the strictest provider refuses in a history: the first fault of a request, by name."""

import re
from collections.abc import Iterator
from typing import Any, assert_never

from abey.core.conversation import AssistantMessage, CallMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.protocol.transcript import TextPart

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def fault_of(request: ModelRequest) -> str | None:
    """Why a strict provider would refuse `request`, in a line, or None.

    Every call is answered once, in place and in order; roles take turns, the user first; no call id twice; no lone
    surrogates anywhere.
    """
    halves = (where for where, text in _texts(request) if _LONE_SURROGATE.search(text))
    return misfit_of(request) or next((f"{where} holds a lone surrogate" for where in halves), None)


def misfit_of(request: ModelRequest) -> str | None:
    """The same, but for the texts: what no spelling of the request can mend."""
    return next(_misfits(request.messages), None)


def _misfits(messages: tuple[Message, ...]) -> Iterator[str]:
    if not messages:
        yield "the history is empty"
        return
    yield from _pairing(messages)
    if isinstance(messages[-1], AssistantMessage) and not messages[-1].calls:
        yield "the last message is the model's own"


def _pairing(messages: tuple[Message, ...]) -> Iterator[str]:
    open_calls: list[str] = []
    seen: set[str] = set()
    before: Message | None = None
    for at, message in enumerate(messages, 1):
        match message:
            case ResultMessage():
                yield from _result_fault(message.call_id, open_calls, seen, at)
                open_calls = [call for call in open_calls if call != message.call_id]
            case UserMessage() | AssistantMessage():
                if open_calls:
                    yield f"call {open_calls[0]!r} has no result before message {at}"
                yield from _role_fault(before, message, at)
                calls = message.calls if isinstance(message, AssistantMessage) else ()
                yield from _id_faults(calls, seen)
                open_calls = [call.call_id for call in calls]
                seen.update(open_calls)
            case _:
                assert_never(message)
        before = message
    if open_calls:
        yield f"call {open_calls[0]!r} has no result"


def _result_fault(call_id: str, open_calls: list[str], seen: set[str], at: int) -> Iterator[str]:
    if call_id not in open_calls:
        fault = "is answered twice, or out of its place" if call_id in seen else "was never made"
        yield f"message {at} answers call {call_id!r}, which {fault}"
    elif call_id != open_calls[0]:
        yield f"message {at} answers call {call_id!r} before call {open_calls[0]!r}"


def _role_fault(before: Message | None, message: UserMessage | AssistantMessage, at: int) -> Iterator[str]:
    if isinstance(message, AssistantMessage) and not isinstance(before, UserMessage | ResultMessage):
        yield (
            f"message {at} is the model's, and so is the one before it"
            if before
            else "the first message is the model's"
        )
    if isinstance(message, UserMessage) and isinstance(before, UserMessage):
        yield f"message {at} is the user's, and so is the one before it"


def _id_faults(calls: tuple[CallMessage, ...], seen: set[str]) -> Iterator[str]:
    ids = [call.call_id for call in calls]
    for at, call_id in enumerate(ids):
        if not call_id:
            yield "a call has an empty id"
        if call_id in seen or call_id in ids[:at]:
            yield f"two calls have the id {call_id!r}"


def _texts(request: ModelRequest) -> Iterator[tuple[str, str]]:
    """Every text that is sent, with the name of its place."""
    yield "the system prompt", request.system_prompt
    for tool in request.tools:
        for text in _strings([tool.name, tool.description, dict(tool.parameters)]):
            yield f"tool {tool.name!r}", text
    for at, message in enumerate(request.messages, 1):
        for text in _message_texts(message):
            yield f"message {at}", text


def _message_texts(message: Message) -> Iterator[str]:
    match message:
        case UserMessage():
            yield from (part.text for part in message.parts if isinstance(part, TextPart))
        case AssistantMessage():
            yield from (block.text for block in message.blocks)
            for call in message.calls:
                yield from (call.call_id, call.tool, call.arguments)
        case ResultMessage():
            yield from (message.call_id, message.tool)
            yield from _strings(message.content)
        case _:
            assert_never(message)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
