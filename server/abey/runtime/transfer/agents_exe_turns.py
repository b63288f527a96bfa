"""The turns of a session of ours as agents-exe has them (agents_exe_export.py)."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from abey.core.agent import Agent
from abey.core.call import Call, CallState
from abey.core.calls import base_disposition
from abey.core.history import result_of
from abey.core.session import AnswerEntry, InputEntry, NoteEntry, Session
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.policy import Defer, Deny, RunIsolated
from abey.protocol.session import Usage
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.runtime.clock import millis_of

Value = dict[str, Any]

_TYPES = ("text", "json", "media", "mixed")
_CROCKFORD = {letter: value for value, letter in enumerate("0123456789abcdefghjkmnpqrstvwxyz")}
_STATES: Mapping[CallState, str] = {
    "ready": "Ready",
    "deferred": "Deferred",
    "approved": "Deferred",
    "running": "Running",
    "uncertain": "Running",
    "completed": "Completed",
    "failed": "Failed",
    "denied": "Failed",
    "cancelled": "Failed",
    "expired": "Failed",
}


def turns_of(session: Session, records: Sequence[j.Record], agent: Agent | None) -> list[Value]:
    """Every turn of theirs, oldest first."""
    usage = {record.data.step_id: record.data.usage for record in records if isinstance(record.data, j.Candidate)}
    tools = [_tool(one.name, one.description, one.parameters) for one in agent.tools.values()] if agent else []
    said = _Said(agent.system_prompt if agent else "", tools)
    return list(_converted(session, usage, said))


def uuid_of(identifier: str) -> str:
    """An id as agents-exe has them: a UUID stays, a ULID is the same 128 bits, of any other one a hash."""
    try:
        return str(uuid.UUID(identifier))
    except ValueError:
        pass
    letters = [_CROCKFORD.get(letter) for letter in identifier]
    if len(letters) == 26 and None not in letters and (letters[0] or 0) < 8:
        return str(uuid.UUID(int=sum((value or 0) << 5 * place for place, value in enumerate(reversed(letters)))))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"abey:{identifier}"))


@dataclass(frozen=True, slots=True)
class _Said:
    """What every user turn repeats."""

    prompt: str
    tools: list[Value]


def _converted(session: Session, usage: Mapping[str, Usage], said: _Said) -> Iterator[Value]:
    results: list[list[Value]] = []
    spoken: list[tuple[Part, ...]] = []
    last: AnswerEntry | None = None
    for entry in (entry for turn in session.turns for entry in turn.entries):
        match entry:
            case InputEntry():
                spoken.append(entry.parts)
            case AnswerEntry():
                yield from _user_turns(said, results, spoken) or [_user_turn(said, None, [])]
                yield _llm_turn(entry, usage.get(entry.step_id, Usage()))
                results, spoken, last = [_pair(call) for call in entry.calls], [], entry
            case NoteEntry():
                pass
    if last is not None and last is session.batch and not last.settled:
        waits = [queued.parts for queued in session.queue if queued.delivery == "interrupt"]
        if any(call.verdict is not None or call.final for call in last.calls):
            yield _partial_turn(said, last.calls, [part for parts in (*spoken, *waits) for part in parts])
    else:
        yield from _user_turns(said, results, spoken)


def _user_turns(said: _Said, results: list[list[Value]], spoken: list[tuple[Part, ...]]) -> list[Value]:
    """One for the results with the first input, one more for every other input."""
    if not results and not spoken:
        return []
    first, *others = spoken or [()]
    return [_user_turn(said, _query(first), results), *(_user_turn(said, _query(parts), []) for parts in others)]


def _user_turn(said: _Said, query: Json, results: list[list[Value]]) -> Value:
    contents = {
        "userPrompt": said.prompt,
        "userTools": said.tools,
        "userQuery": query,
        "userToolResponses": results,
    }
    return _turn("UserTurn", contents, stepInputBytes=_bytes(query), stepToolBytes=_bytes(results))


def _partial_turn(said: _Said, calls: Sequence[Call], parts: Sequence[Part]) -> Value:
    query = _query(tuple(parts))
    contents = {
        "userPrompt": said.prompt,
        "userTools": said.tools,
        "userQuery": query,
        "trackedToolCalls": [_tracked(call) for call in calls],
    }
    return _turn("PartialUserTurn", contents, stepInputBytes=_bytes(query))


def _llm_turn(answer: AnswerEntry, usage: Usage) -> Value:
    text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
    thinking = "".join(block.text for block in answer.blocks if isinstance(block, ThinkingBlock))
    calls = [_call(call) for call in answer.calls]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    response = {
        "responseText": text or None,
        "responseThinking": thinking or None,
        "rawResponse": {
            "object": "chat.completion",
            "created": millis_of(answer.at) // 1000,
            "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        },
        "responseTokenUsage": _usage(usage),
    }
    contents = {"llmResponse": response, "llmToolCalls": calls}
    return _turn("LlmTurn", contents, stepOutputBytes=_bytes(text), stepReasoningBytes=_bytes(thinking))


def _turn(tag: str, contents: Value, **sizes: int) -> Value:
    names = ("stepInputBytes", "stepOutputBytes", "stepReasoningBytes", "stepToolBytes")
    usage = {name: sizes.get(name, 0) for name in names} | {"stepTotalBytes": sum(sizes.values())}
    return {"tag": tag, "contents": contents, "byteUsage": usage}


def _pair(call: Call) -> list[Value]:
    return [_call(call), _response(result_of(call).content)]


def _tracked(call: Call) -> Value:
    verdict = call.verdict
    return {
        "id": uuid_of(call.call_id),
        "call": _call(call),
        "state": _STATES[call.state],
        "policy": {"disposition": _disposition(verdict)},
        **({"result": _response(result_of(call).content)} if call.final else {}),
        **({"continuation": uuid_of(verdict.token)} if verdict and _STATES[call.state] == "Deferred" else {}),
    }


def _disposition(verdict: j.CallDecided | None) -> Value:
    """What agents-exe knows of it: what needs a runner or is refused here is something that waits there."""
    if verdict is None:
        return {"tag": "runSync"}
    base = base_disposition(verdict.disposition)
    if isinstance(base, Defer | RunIsolated | Deny) or not verdict.runnable:
        return {"tag": "defer", "reason": verdict.reason or ""}
    return {"tag": base.tag}


def _call(call: Call) -> Value:
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.tool, "arguments": call.effective_arguments},
    }


def _response(content: Json) -> Value:
    if isinstance(content, str):
        return {"type": "text", "content": content}
    typed = isinstance(content, dict) and content.get("type") in _TYPES
    return content if typed else {"type": "json", "content": content}


def _query(parts: tuple[Part, ...]) -> Json:
    """Nothing, a text, or a text with media; a file that is only named is named in the text."""
    media = [
        {"mimeType": part.mime_type, "base64Data": part.base64_data}
        for part in parts
        if isinstance(part, MediaPart) and part.base64_data is not None
    ]
    texts = [text for part in parts if (text := _line(part)) is not None]
    if media:
        return {"text": "\n".join(texts), "media": media}
    return "\n".join(texts) if texts else None


def _line(part: Part) -> str | None:
    if isinstance(part, TextPart):
        return part.text
    return None if isinstance(part, MediaPart) and part.base64_data is not None else f"[file: {part.path}]"


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> Value:
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    raw = {"type": "function", "function": function}
    known = {"name": name, "llmName": name, "description": description, "properties": [], "raw": raw}
    return {"tag": "V1", "contents": known}


def _usage(usage: Usage) -> Value:
    cached = {} if usage.cached_tokens is None else {"cached_tokens": usage.cached_tokens}
    thought = {} if usage.reasoning_tokens is None else {"reasoning_tokens": usage.reasoning_tokens}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        **({"prompt_tokens_details": cached} if cached else {}),
        **({"completion_tokens_details": thought} if thought else {}),
    }


def _bytes(value: Json) -> int:
    if value is None or value == []:
        return 0
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))
