"""A session as a document that its user reads and writes in: Markdown above the composer line, the user's below it."""

import json
from collections.abc import Iterator, Sequence

from abey.language.sessions.harmless import block, code
from abey.language.sessions.page import Page, Waiting
from abey.protocol.base import Json
from abey.protocol.session import Session
from abey.protocol.transcript import Item, ItemCall, Part, Pending, TextPart

TRANSCRIPT_SHOWN = 200_000
"""Characters: editors are slow with more, and the daemon does not look at documents of more than a mebibyte."""

TEXT_SHOWN = 8000
RESULT_SHOWN = 2000
"""Characters; what is longer is shown without its middle."""

PARTS_SHOWN = 40
"""Of an input; they share the room of one text."""


def shown(page: Page) -> str:
    """All above the composer line: a function of the page, and of nothing else."""
    short = page.without_first(_too_many(page.items))
    while len(text := "".join(_transcript(short))) > TRANSCRIPT_SHOWN and len(short.items) > 1:
        short = short.without_first(len(short.items) // 2)
    return "".join((*_head(page.session), *_left_out(short), text, *_waiting(page), "\n"))


def _too_many(items: Sequence[Item]) -> int:
    """How many of the first items there is surely no room for, before anything is rendered."""
    room = TRANSCRIPT_SHOWN
    for index in range(len(items) - 1, -1, -1):
        room -= _at_least(items[index])
        if room < 0:
            return index + 1
    return 0


def _at_least(item: Item) -> int:
    """Characters that it surely takes."""
    parts = (item.parts or ())[:PARTS_SHOWN]
    said = sum(min(len(part.text), _room(parts)) for part in parts if isinstance(part, TextPart))
    output = item.call.output if item.call else None
    result = min(len(output), RESULT_SHOWN) if isinstance(output, str) else 0
    return min(len(item.text or ""), TEXT_SHOWN) + said + result


def _left_out(page: Page) -> Iterator[str]:
    if page.before.items:
        all_of_it = code(f"abey session export {page.session.session_id}")
        yield f"\nThe first {page.before.items} items are not shown; {all_of_it} has them.\n"


def _head(session: Session) -> Iterator[str]:
    yield f"# Session {code(session.title)}\n\n"
    yield f"- id: {code(session.session_id)}\n"
    yield f"- agent: {code(session.agent)}, folder {code(session.cwd)}\n"
    yield f"- state: {_state(session)}\n"
    if session.paused is not None:
        yield f"- paused: {code(session.paused.reason or 'no reason given')}\n"
    if session.last_error is not None:
        yield f"- last error: {code(session.last_error.kind)} {code(session.last_error.message)}\n"
    if session.damaged is not None:
        yield f"- damaged: {code(session.damaged.reason)}\n"
    if session.queued:
        yield f"- inputs that wait: {len(session.queued)}\n"


def _state(session: Session) -> str:
    turn = session.turn
    if turn is None:
        is_new = session.state == "completed" and not session.queued
        return f"{session.state}, no input yet: it waits for the first message" if is_new else session.state
    end = f"ended ({turn.end})" if turn.end else "open"
    return f"{session.state}, {session.activity}; turn {turn.n} {end}"


def _transcript(page: Page) -> Iterator[str]:
    turn, n, number = None, page.before.turns, page.before.calls
    for item in page.items:
        if item.turn_id != turn:
            turn, n = item.turn_id, n + 1
            yield f"\n## Turn {n}\n"
        if item.call is not None:
            number += 1
            yield from _call(number, item.call)
        else:
            yield from _item(item)


def _item(item: Item) -> Iterator[str]:
    match item.kind:
        case "input":
            yield f"\n### User, {item.at}\n"
            yield from _parts(item.parts or ())
        case "thinking":
            yield f"\n### Model thinks, {item.at}\n\n{block(_abridged(item.text or '', TEXT_SHOWN))}"
        case "answer":
            yield f"\n### Model, {item.at}\n\n{block(_abridged(item.text or '', TEXT_SHOWN), 'markdown')}"
        case _:
            yield f"\n- note: {code(item.text or '', 1000)}\n"


def _call(n: int, call: ItemCall) -> Iterator[str]:
    yield f"\n### Call {n} {code(call.tool)}: {call.state}\n\n"
    yield block(_abridged(_json(call.arguments), RESULT_SHOWN), "json")
    if call.effective_arguments is not None:
        yield "\nRun with other arguments:\n\n"
        yield block(_abridged(_json(call.effective_arguments), RESULT_SHOWN), "json")
    if (decision := call.decision) is not None:
        message = f": {code(decision.message, 1000)}" if decision.message else ""
        yield f"\nDecided by {code(decision.by)}, {decision.at}{message}\n"
    if call.may_have_run:
        yield "\nIt may have run.\n"
    if "output" in call.model_fields_set:
        yield "\nResult:\n\n"
        yield block(_abridged(_output(call.output), RESULT_SHOWN))


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    shown, more = parts[:PARTS_SHOWN], len(parts) - PARTS_SHOWN
    for part in shown:
        yield "\n" + _part(part, _room(shown))
    if more > 0:
        yield f"\n- and {more} more parts\n"


def _room(parts: Sequence[Part]) -> int:
    """Characters for each of them."""
    return TEXT_SHOWN // max(len(parts), 1)


def _part(part: Part, room: int) -> str:
    if isinstance(part, TextPart):
        return block(_abridged(part.text, room))
    kind = part.kind if part.path is None else f"{part.kind} {code(part.path)}"
    return f"- {kind}\n"


def _waiting(page: Page) -> Iterator[str]:
    if page.waiting:
        yield "\n## Waiting\n\n"
        yield from (_wait(page, one) for one in page.waiting)


def _wait(page: Page, one: Waiting) -> str:
    pending = one.pending
    where = f": {code(str(page.path(one.name)), 4096)}" if one.has_document else ""
    question = f"\n\n{block(_abridged(pending.question.prompt, TEXT_SHOWN))}" if pending.question else "\n"
    diff = "" if pending.diff is None else _diff(pending.diff)
    why = f"{code(pending.reason)}{_since(pending)}"
    return f"- call {one.n} {code(pending.tool)}, {pending.kind} ({why}){where}{question}{diff}{_so_far(pending)}"


def _diff(diff: str) -> str:
    shown = _abridged(diff.removesuffix("\n"), TEXT_SHOWN)
    return f"\n{block(shown, 'diff')}"


def _since(pending: Pending) -> str:
    return f", started {pending.started_at}" if pending.kind == "uncertain" and pending.started_at else ""


def _so_far(pending: Pending) -> str:
    """What an uncertain call had printed; that of one which runs would change under the eyes of who reads."""
    if pending.kind != "uncertain" or not pending.output_so_far:
        return ""
    return f"\n  It had printed:\n\n{block(_abridged(pending.output_so_far, RESULT_SHOWN))}"


def _json(value: Json) -> str:
    """A JSON value for people; a text that stands for arguments that are none, as it is."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _output(value: Json) -> str:
    match value:
        case {"type": "text", "content": str(text)}:
            return text
        case {"type": "media", "mimeType": str(mime)}:
            return f"[{mime}, not shown]"
        case _:
            return _json(value)


def _abridged(text: str, limit: int) -> str:
    """The head and the tail, saying how much is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]}\n[{len(text) - head - tail} characters left out]\n{text[-tail:]}"
