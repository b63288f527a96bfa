"""Session files of agents-exe, versions none, 1 and 2, read into closed shapes; oldest turn first."""

import json
from dataclasses import dataclass
from typing import Literal

from abey.protocol.base import Json
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.session import Usage
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.runtime.transfer.cursor import At

VERSIONS = (None, 1, 2)
TrackedState = Literal["open", "started", "completed", "failed"]

_STATES: dict[str, TrackedState] = {
    "Ready": "open",
    "Deferred": "open",
    "Running": "started",
    "Completed": "completed",
    "Failed": "failed",
}


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call as the model made it; `id` is the provider's own, perhaps empty or used before."""

    at: At
    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Tracked:
    """A call and how far it came; `result` counts in the states completed and failed."""

    call: FileCall
    state: TrackedState
    result: Json = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the model was told next: results, then a query. `partial`: some results are still to come."""

    prompt: str
    tools: tuple[At, ...]
    parts: tuple[Part, ...]
    tracked: tuple[Tracked, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class LlmTurn:
    """One answer of the model; `created` is in seconds since 1970."""

    blocks: tuple[Block, ...]
    calls: tuple[FileCall, ...]
    finish_reason: str
    usage: Usage
    created: int | None
    model: str | None


@dataclass(frozen=True, slots=True)
class SessionFile:
    session_id: str | None
    forked_from: str | None
    synchronous: bool
    turns: tuple[UserTurn | LlmTurn, ...]


def read_session_file(top: At) -> SessionFile:
    """The session of a file. Raises InvalidSeed, which names the file and the JSON pointer of what is wrong."""
    version = top.member("sessionVersion")
    if version.value not in VERSIONS or isinstance(version.value, bool | float):
        raise version.wrong(f"session file version {version.value!r} is not known; 1 and 2 are")
    turns = [_turn(at) for at in reversed(top.member("turns").items())]
    mode = top.member("sessionExecutionMode").value
    session_id = top.member("sessionId").text_or_none()
    forked_from = top.member("forkedFromSessionId").text_or_none()
    return SessionFile(session_id, forked_from, version.value == 2 and mode == "synchronous", tuple(turns))


def read_query(query: At) -> tuple[Part, ...]:
    """The parts of a userQuery: nothing, a text, or a text with media."""
    if query.value is None or isinstance(query.value, str):
        text = query.text_or_none()
        return (TextPart(text=text),) if text is not None else ()
    text = query.member("text").text_or_none()
    media = tuple(_medium(at) for at in query.member("media").items_or_none())
    return ((TextPart(text=text),) if text is not None else ()) + media


def _turn(at: At) -> UserTurn | LlmTurn:
    tag, contents = at.member("tag"), at.member("contents")
    match tag.value:
        case "UserTurn":
            return _user_turn(contents, _pairs(contents.member("userToolResponses")))
        case "LlmTurn":
            return _llm_turn(at, contents)
        case "PartialUserTurn":
            return _user_turn(contents, _partial(contents), partial=True)
        case _:
            raise tag.wrong(f"{tag.value!r} is no turn; UserTurn, LlmTurn and PartialUserTurn are")


def _user_turn(contents: At, tracked: tuple[Tracked, ...], partial: bool = False) -> UserTurn:
    return UserTurn(
        prompt=contents.member("userPrompt").text_or_none() or "",
        tools=contents.member("userTools").items_or_none(),
        parts=read_query(contents.member("userQuery")),
        tracked=tracked,
        partial=partial,
    )


def _pairs(responses: At) -> tuple[Tracked, ...]:
    pairs = (at.pair() for at in responses.items_or_none())
    return tuple(Tracked(_call(call), "completed", _response(response.value)) for call, response in pairs)


def _response(value: Json) -> Json:
    """A response as it came; an older file wraps it."""
    wrapped = isinstance(value, dict) and set(value) == {"_userToolResponse"}
    return value["_userToolResponse"] if wrapped else value


def _partial(contents: At) -> tuple[Tracked, ...]:
    """The calls of a turn that is not whole yet, as version 2 or as older files have it."""
    continuations = contents.member("pendingContinuations")
    if continuations.value:
        fact = "a continuation of an older agents-exe cannot be carried on; let agents-exe finish the turn first"
        raise continuations.wrong(fact)
    if contents.member("trackedToolCalls").value is not None:
        return tuple(_tracked(at) for at in contents.member("trackedToolCalls").items())
    pending = tuple(Tracked(_call(at), "open") for at in contents.member("pendingCalls").items_or_none())
    return _pairs(contents.member("completedResponses")) + pending


def _tracked(at: At) -> Tracked:
    state = at.member("state")
    if not isinstance(state.value, str) or state.value not in _STATES:
        raise state.wrong(f"{state.value!r} is no state of a call; {', '.join(_STATES)} are")
    found = _STATES[state.value]
    if found in ("completed", "failed") and "result" not in at.value:
        raise at.wrong(f"a call that is {state.value} has no result")
    reason = at.look("policy", "disposition", "reason").value
    result = _response(at.member("result").value)
    return Tracked(_call(at.member("call")), found, result, reason if isinstance(reason, str) else None)


def _call(at: At) -> FileCall:
    """A call as a provider gives it: what has no name is called unknown, as agents-exe does."""
    function = at.member("function")
    found = function if isinstance(function.value, dict) else At(at.file, {}, function.pointer)
    call_id, name, arguments = at.member("id").text_or_none(), found.member("name"), found.member("arguments")
    tool = name.text() if isinstance(name.value, str) and name.value else "unknown"
    if arguments.value is None or isinstance(arguments.value, str):
        return FileCall(at, call_id or "", tool, arguments.text_or_none() or "")
    return FileCall(at, call_id or "", tool, json.dumps(arguments.value, ensure_ascii=False))


def _llm_turn(at: At, contents: At) -> LlmTurn:
    response = contents.member("llmResponse")
    raw = response.member("rawResponse")
    calls = tuple(_call(call) for call in contents.member("llmToolCalls").items_or_none())
    finish = raw.look("choices", 0, "finish_reason").value
    model = raw.look("model").value
    return LlmTurn(
        blocks=_blocks(response),
        calls=calls,
        finish_reason=finish if isinstance(finish, str) and finish else "tool_calls" if calls else "stop",
        usage=_usage(response.member("responseTokenUsage"), at.look("byteUsage", "stepTokenUsage"), raw.look("usage")),
        created=raw.look("created").count_or_none(),
        model=model if isinstance(model, str) and model else None,
    )


def _blocks(response: At) -> tuple[Block, ...]:
    thinking, text = response.member("responseThinking").text_or_none(), response.member("responseText").text_or_none()
    thoughts: tuple[Block, ...] = (ThinkingBlock(text=thinking),) if thinking else ()
    return thoughts + ((TextBlock(text=text),) if text else ())


def _usage(*places: At) -> Usage:
    """The usage of the first place that has one."""
    at = next((place for place in places if isinstance(place.value, dict)), places[0])
    cached = at.look("prompt_tokens_details", "cached_tokens").count_or_none()
    return Usage(
        input_tokens=at.look("prompt_tokens").count_or_none() or 0,
        output_tokens=at.look("completion_tokens").count_or_none() or 0,
        cached_tokens=at.look("cached_tokens").count_or_none() if cached is None else cached,
        reasoning_tokens=at.look("completion_tokens_details", "reasoning_tokens").count_or_none(),
    )


def _medium(at: At) -> MediaPart:
    if isinstance(at.value, dict) and not {"mimeType", "base64Data"} <= at.value.keys():
        raise at.wrong("a medium has mimeType and base64Data")
    return MediaPart(mime_type=at.member("mimeType").text(), base64_data=at.member("base64Data").text())
