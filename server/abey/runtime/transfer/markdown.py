"""A session as a document for people: every turn with what was said, thought, called and answered."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from abey.core.call import Call
from abey.core.history import result_of
from abey.core.session import AnswerEntry, InputEntry, NoteEntry, Session, Turn, queue_order
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.session import Usage
from abey.protocol.transcript import MediaPart, Part, TextPart
from abey.shared.escaping import escape, escape_line

_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def export_document(session: Session, records: Sequence[j.Record]) -> Iterator[str]:
    """The document in pieces. Whatever the session holds, a fence stays closed and nothing acts on a terminal."""
    usage = {record.data.step_id: record.data.usage for record in records if isinstance(record.data, j.Candidate)}
    yield f"# {_inline(session.title)}\n\n"
    yield f"- session: `{_code(session.id)}`, revision {session.revision}\n"
    yield f"- agent: {_inline(session.created.agent)}\n"
    yield f"- folder: {_inline(session.created.cwd)}\n"
    yield f"- began {records[0].at}, last changed {session.updated_at}\n"
    for turn in session.turns:
        yield from _turn(turn, usage)
    for queued in queue_order(session):
        waits = "A turn without input that waits" if queued.continues else f"Input that waits ({queued.delivery})"
        yield f"\n### {waits}\n\n"
        yield from map(_part, queued.parts)


def fenced(text: str, language: str = "") -> str:
    """`text` in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{escape(text)}\n{fence}\n\n"


def _turn(turn: Turn, usage: Mapping[str, Usage]) -> Iterator[str]:
    yield f"\n## Turn {turn.n}\n\n"
    spent: list[Usage] = []
    for entry in turn.entries:
        match entry:
            case InputEntry():
                yield f"### {'Asked again' if entry.repairs else 'User'}, {entry.at}\n\n"
                yield from map(_part, entry.parts)
            case AnswerEntry():
                spent.append(usage.get(entry.step_id, Usage()))
                yield from _answer(entry)
            case NoteEntry():
                yield f"> {_inline(entry.text)}\n\n"
    yield _end(turn, spent)


def _end(turn: Turn, spent: Sequence[Usage]) -> str:
    tokens_in, tokens_out = sum(one.input_tokens for one in spent), sum(one.output_tokens for one in spent)
    calls = "1 model call" if len(spent) == 1 else f"{len(spent)} model calls"
    how = f"{turn.end} at {turn.ended_at}" if turn.end else "still open"
    return f"*Turn {turn.n}: {how}; {calls}, {tokens_in} tokens in, {tokens_out} out.*\n"


def _answer(answer: AnswerEntry) -> Iterator[str]:
    yield f"### Model, {answer.at}\n\n"
    for block in answer.blocks:
        match block:
            case ThinkingBlock():
                yield f"<details><summary>Thinking</summary>\n\n{fenced(block.text, 'text')}</details>\n\n"
            case TextBlock():
                yield fenced(block.text, "markdown")
    if answer.finish_reason not in ("stop", "tool_calls"):
        yield f"*Finish reason: {_inline(answer.finish_reason)}.*\n\n"
    for call in answer.calls:
        yield from _call(call)


def _call(call: Call) -> Iterator[str]:
    yield f"#### Call {_inline(call.tool)} (`{_code(call.call_id)}`): {call.state}\n\n"
    yield _json(call.arguments)
    if call.effective_arguments != call.arguments:
        yield "Run with other arguments:\n\n"
        yield _json(call.effective_arguments)
    if call.final:
        yield "Result:\n\n"
        yield from _content(result_of(call).content)
        whole = call.finished.whole if call.finished else None
        if whole is not None:
            yield f"*All {whole.bytes} bytes of it are kept with the session.*\n\n"


def _json(text: str) -> str:
    """Arguments as they were written, laid out where they parse."""
    try:
        return fenced(json.dumps(json.loads(text), indent=2, ensure_ascii=False), "json")
    except (ValueError, RecursionError):
        return fenced(text, "text")


def _content(content: Json) -> Iterator[str]:
    match content:
        case str() | {"type": "text", "content": str()}:
            yield fenced(content if isinstance(content, str) else content["content"], "text")
        case {"type": "media", "mimeType": str(mime), "base64Data": str(data)}:
            yield f"*{_inline(mime)}, {len(data) * 3 // 4} bytes, not shown.*\n\n"
        case {"type": "mixed", "parts": list(parts)}:
            for part in parts:
                yield from _content(part)
        case {"type": "json", "content": inner}:
            yield fenced(json.dumps(inner, indent=2, ensure_ascii=False), "json")
        case _:
            yield fenced(json.dumps(content, indent=2, ensure_ascii=False), "json")


def _part(part: Part) -> str:
    match part:
        case TextPart():
            return fenced(part.text, "text")
        case MediaPart() if part.base64_data is not None:
            return f"*{_inline(part.mime_type)}, {len(part.base64_data) * 3 // 4} bytes, not shown.*\n\n"
        case _:
            return f"*File {_inline(part.path or '')}.*\n\n"


def _inline(text: str) -> str:
    """A line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", escape_line(text))


def _code(text: str) -> str:
    """A line inside backticks."""
    return escape_line(text).replace("`", "'")
