"""What the strictest provider refuses in a history: the first fault of a request, by name.

A history that has grown since the last request is checked where it has grown: the rest was found to be sound.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from abey.core.conversation import AssistantMessage, Message, ModelRequest, OfferedTool, ResultMessage, UserMessage
from abey.core.once import once
from abey.core.rows import Fold, Names, folded
from abey.protocol.transcript import TextPart
from abey.shared.values import dataclass

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Paired:
    """So many messages, the last of them `last`: the ids of all calls, of those that have no result yet, and the first
    fault."""

    count: int = 0
    last: Message | None = None
    ids: Names = Names()
    open_calls: tuple[str, ...] = ()
    fault: str | None = None


def fault_of(request: ModelRequest) -> str | None:
    """Why a strict provider would refuse `request`, in a line, or None.

    Every call is answered once, in place and in order; roles take turns, the user first; no call id twice; no lone
    surrogates anywhere.
    """
    return misfit_of(request) or _misspelling(request)


def misfit_of(request: ModelRequest) -> str | None:
    """The same, but for the texts: what no spelling of the request can mend."""
    paired = folded(_PAIRING, request.messages)
    if paired.fault is not None:
        return paired.fault
    if paired.last is None:
        return "the history is empty"
    if paired.open_calls:
        return f"call {paired.open_calls[0]!r} has no result"
    last = paired.last
    return "the last message is the model's own" if isinstance(last, AssistantMessage) and not last.calls else None


def _misspelling(request: ModelRequest) -> str | None:
    """Where a lone surrogate is."""
    where = None
    if _is_broken(request.system_prompt):
        where = "the system prompt"
    elif not all(map(_offers_well, request.tools)):
        where = next(f"tool {tool.name!r}" for tool in request.tools if not _offers_well(tool))
    elif not folded(_SPELLING, request.messages):
        at = next(at for at, message in enumerate(request.messages, 1) if not _spell(True, message))
        where = f"message {at}"
    return None if where is None else f"{where} holds a lone surrogate"


def _pair(before: _Paired, message: Message) -> _Paired:
    if before.fault is not None:
        return before
    at, ids, open_calls = before.count + 1, before.ids, before.open_calls
    match message:
        case ResultMessage():
            fault, open_calls = _result_fault(message.call_id, before, at), open_calls[1:]
        case UserMessage():
            fault, open_calls = _users_fault(before, at), ()
        case AssistantMessage():
            open_calls = tuple([call.call_id for call in message.calls])
            fault = _models_fault(open_calls, before, at)
            for call_id in open_calls:
                ids = ids.with_name(call_id)
        case _:
            assert_never(message)
    return _Paired(at, message, ids, open_calls, fault)


_PAIRING = Fold(_Paired(), _pair)


def _users_fault(before: _Paired, at: int) -> str | None:
    if before.open_calls:
        return _unanswered(before, at)
    if isinstance(before.last, UserMessage):
        return f"message {at} is the user's, and so is the one before it"
    return None


def _models_fault(ids: Sequence[str], before: _Paired, at: int) -> str | None:
    if before.open_calls:
        return _unanswered(before, at)
    if before.last is None:
        return "the first message is the model's"
    if isinstance(before.last, AssistantMessage):
        return f"message {at} is the model's, and so is the one before it"
    return _id_fault(ids, before.ids)


def _unanswered(before: _Paired, at: int) -> str:
    return f"call {before.open_calls[0]!r} has no result before message {at}"


def _result_fault(call_id: str, before: _Paired, at: int) -> str | None:
    if call_id not in before.open_calls:
        fault = "is answered twice, or out of its place" if call_id in before.ids else "was never made"
        return f"message {at} answers call {call_id!r}, which {fault}"
    if call_id != before.open_calls[0]:
        return f"message {at} answers call {call_id!r} before call {before.open_calls[0]!r}"
    return None


def _id_fault(ids: Sequence[str], known: Names) -> str | None:
    for at, call_id in enumerate(ids):
        if not call_id:
            return "a call has an empty id"
        if call_id in known or call_id in ids[:at]:
            return f"two calls have the id {call_id!r}"
    return None


def _spell(well: bool, message: Message) -> bool:
    return well and not _is_broken("".join(_message_texts(message)))


_SPELLING = Fold(True, _spell)
"""Whether no message holds a lone surrogate."""


@once
def _offers_well(tool: OfferedTool) -> bool:
    """Whether it holds none."""
    return not any(map(_is_broken, _strings([tool.name, tool.description, dict(tool.parameters)])))


def _is_broken(text: str) -> bool:
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def _message_texts(message: Message) -> Sequence[str]:
    match message:
        case UserMessage():
            return [part.text for part in message.parts if isinstance(part, TextPart)]
        case AssistantMessage():
            told = [text for call in message.calls for text in (call.call_id, call.tool, call.arguments)]
            return [block.text for block in message.blocks] + told
        case ResultMessage():
            return [message.call_id, message.tool, *_strings(message.content)]
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
