"""A session as a portable value: the record of its last transition (machine.md, Records).

What it says of the transcript a seed takes back, and the history that a model is sent is the same then, as far as
nothing of it was summed up.
"""

from collections.abc import Iterator

from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.hashes import parse_arguments
from abey.core.history import result_of
from abey.core.pending_views import shown_arguments
from abey.core.portable import CANCELLED, plain_text
from abey.core.session import AnswerEntry, Entry, InputEntry, NoteEntry, Session, Turn
from abey.protocol import seeds as s
from abey.protocol.base import Json
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.lines import RecordedSession, RecordResult, Status
from abey.protocol.transcript import FilePart, MediaPart, Part, TextPart

_FINISH_REASONS = {"tool_calls": "tool-calls", "content_filter": "content-filter"}
"""The words of the harness where they are not ours."""

_TYPED = ("text", "json", "media", "mixed")

NAMELESS = "unknown"
"""The tool of a call in which the model named none."""


def record_of(session: Session) -> RecordResult:
    """The session as its journal tells it; what only runs here and now is not in it."""
    return RecordResult(
        revision=session.revision,
        transition=session.transition,
        session=RecordedSession(
            id=session.id,
            user_id=session.user_id,
            context=session.context,
            turn_count=session.turn_count,
            status=_status(session),
        ),
        transcript=tuple(entry.wire() for entry in transcript(session)),
        active=_active(session),
    )


def transcript(session: Session) -> Iterator[s.SeedEntry]:
    """The entries, oldest first. A batch has its results there once all of them are in. Notes are not in it, but what a
    seed told that makes no sense is, as it came, in the turn that it became a part of."""
    for turn in session.turns:
        for entry in turn.entries:
            yield from _told(turn, entry)
        if turn.end == "answered":
            yield from _final(turn)


def _status(session: Session) -> Status:
    if session.stopped:
        return "stopped"
    if session.open_turn is None:
        return "idle"
    return "waiting" if session.state == "partialUserTurn" and session.transition == "waiting" else "running"


def _told(turn: Turn, entry: Entry) -> Iterator[s.SeedEntry]:
    match entry:
        case InputEntry():
            yield s.SeedInput(turn_id=turn.turn_id, event=_event(entry.parts))
        case AnswerEntry():
            yield s.SeedCandidate(turn_id=turn.turn_id, step_id=entry.step_id, candidate=_candidate(entry))
            if entry.committed:
                results = tuple(_result(call) for call in entry.calls)
                yield s.SeedResults(turn_id=turn.turn_id, step_id=entry.step_id, results=results)
        case NoteEntry(told=told):
            yield from (one.model_copy(update={"turn_id": turn.turn_id}) for one in told)


def _final(turn: Turn) -> Iterator[s.SeedEntry]:
    answer = next((entry for entry in reversed(turn.entries) if isinstance(entry, AnswerEntry)), None)
    if answer is not None:
        text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
        yield s.SeedFinal(turn_id=turn.turn_id, step_id=answer.step_id, output=text)


def _event(parts: tuple[Part, ...]) -> s.MessageEvent:
    """A text alone, or content in the words of the harness, as far as it has some."""
    match parts:
        case (TextPart(text=text),):
            return s.MessageEvent(text=text)
        case _ if any(isinstance(part, FilePart) for part in parts):
            return s.MessageEvent(parts=parts)
        case _:
            return s.MessageEvent(content=tuple(_content(part) for part in parts))


def _content(part: Part) -> s.TextContent | s.MediaContent:
    match part:
        case TextPart(text=text):
            return s.TextContent(text=text)
        case MediaPart(path=str(path), base64_data=None):
            return s.MediaContent(media_type=part.mime_type, reference={"path": path})
        case MediaPart():
            return s.MediaContent(media_type=part.mime_type, reference={"base64Data": part.base64_data})
        case FilePart():
            raise TypeError("the harness has no word for a file by its path")


def _candidate(answer: AnswerEntry) -> s.ModelCandidate:
    said = tuple(_output(block) for block in answer.blocks)
    asked = tuple(_asked(call) for call in answer.calls)
    reason = _FINISH_REASONS.get(answer.finish_reason, answer.finish_reason)
    return s.ModelCandidate(output=(*said, *asked), finish_reason=reason)


def _output(block: Block) -> s.TextOutput | s.ReasoningOutput:
    match block:
        case TextBlock(text=text):
            return s.TextOutput(text=text)
        case ThinkingBlock():
            return s.ReasoningOutput(text=block.text, signature=block.signature, opaque=block.opaque)


def _asked(call: Call) -> s.CallOutput:
    """Arguments that are no JSON are in `raw` alone."""
    try:
        arguments = parse_arguments(call.arguments)
    except ValueError:
        arguments = {}
    raw = None if plain_text(arguments) == call.arguments else call.arguments
    return s.CallOutput(id=call.call_id, name=call.tool or NAMELESS, args=arguments, raw=raw)


def _result(call: Call) -> s.Result:
    content = result_of(call).content
    text = content if isinstance(content, str) else plain_text(content)
    match call.state:
        case "completed":
            return s.CompletedResult(call_id=call.call_id, tool_name=call.tool, output=_typed(content))
        case "denied":
            return s.DeniedResult(call_id=call.call_id, tool_name=call.tool, reason=text)
        case _:
            return s.FailedResult(
                call_id=call.call_id,
                tool_name=call.tool,
                code=_code(call),
                message=text,
                output=None if isinstance(content, str) else content,
            )


def _typed(content: Json) -> Json:
    """Content as a tool response: an object that says what it is."""
    if isinstance(content, str):
        return {"type": "text", "content": content}
    typed = isinstance(content, dict) and content.get("type") in _TYPED
    return content if typed else {"type": "json", "content": content}


def _code(call: Call) -> str:
    match call.state:
        case "cancelled":
            return CANCELLED
        case "expired":
            return "tool.expired"
        case _:
            error = call.finished.error if call.finished is not None else None
            return (error or "tool/failed").replace("/", ".")


def _active(session: Session) -> dict[str, Json] | None:
    """What the session is about to be told: a model's answer, the results of calls, or an answer to a question."""
    turn, asked, batch = session.open_turn, session.asked, session.batch
    if turn is None:
        return None
    if asked is not None:
        place = {"turnId": turn.turn_id, "stepId": asked.step_id}
        return {"kind": "model", **place, "invocationId": asked.invocation_id}
    if batch is None or session.transition not in ("candidate", "waiting"):
        return None
    place = {"turnId": turn.turn_id, "stepId": batch.step_id}
    tools = {"kind": "tools", **place, "calls": [_active_call(session, call) for call in batch.calls]}
    question = next((call for call in batch.calls if pending_kind(call) == "question"), None)
    return tools if question is None else {"kind": "interaction", **place, **_interaction(question), "tools": tools}


def _active_call(session: Session, call: Call) -> dict[str, Json]:
    """`invocationId` is there once the tool was started, `token` while somebody may use it."""
    told: dict[str, Json] = {"callId": call.call_id, "toolName": call.tool, "args": shown_arguments(call.arguments)}
    if call.started is not None:
        told["invocationId"] = call.started.invocation_id
    told["owner"] = {"middlewareId": session.created.agent, "slot": "tools"}
    told["status"] = "settled" if call.final else "pending" if pending_kind(call) is None else "deferred"
    if call.final:
        told["result"] = _result(call).wire()
    elif call.verdict is not None:
        told["token"] = call.verdict.token
    return told


def _interaction(call: Call) -> dict[str, Json]:
    if call.question is None or call.verdict is None:
        raise ValueError(f"call {call.call_id} asks nothing")
    token, question = call.verdict.token, call.question
    metadata = {} if question.schema_ is None else {"metadata": {"schema": question.schema_}}
    interaction = {"id": token, "kind": question.kind, "prompt": question.prompt, **metadata}
    return {"callId": call.call_id, "toolName": call.tool, "interaction": interaction, "token": token}
