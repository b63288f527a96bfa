"""The transcript of a session as text for people; what others wrote is escaped (security.md, Prompt text)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from abey.shared.escaping import cut, escape, escape_line

if TYPE_CHECKING:
    from abey_cli.protocol_types import Item, ItemCall, Session

TEXT_SHOWN = 4000
"""Characters of one text or output; what is left out is counted."""


def transcript_lines(items: Sequence[Item], has_more: bool) -> list[str]:
    """What was said and done, oldest first; `has_more`: there is more before it."""
    lines = has_more_lines(has_more)
    for item in items:
        lines += _item(item)
    return lines


def has_more_lines(has_more: bool) -> list[str]:
    """That there is more before the first item."""
    return ["… earlier items are left out; `abey rpc agents/transcript` has them"] if has_more else []


def queued_lines(session: Session, texts: Mapping[str, str]) -> list[str]:
    """The inputs that wait to stand in it, the next one first, and how each begins."""
    return [
        f"    {escape_line(one['inputId'])} ({escape_line(one['delivery'])}){_beginning(texts.get(one['inputId'], ''))}"
        for one in session["queued"]
    ]


def _beginning(text: str) -> str:
    return f": {escape_line(text)}" if text else ""


def _item(item: Item) -> Iterator[str]:
    match item["kind"]:
        case "input":
            for part in item.get("parts", ()):
                yield from _prefixed("> ", str(part.get("text", part["kind"])))
        case "toolCall" if "call" in item:
            yield from _call(item["call"])
        case "note":
            yield from _prefixed("note: ", item.get("text", ""))
        case "thinking":
            yield from _prefixed("~ ", item.get("text", ""))
        case _:
            yield from _prefixed("", item.get("text", ""))


def _call(call: ItemCall) -> Iterator[str]:
    arguments = call.get("effectiveArguments", call.get("arguments"))
    shown = escape_line(cut(json.dumps(arguments, ensure_ascii=False), TEXT_SHOWN))
    edited = " (edited)" if "effectiveArguments" in call else ""
    yield f"* {escape_line(call['tool'])} {shown}{edited}: {escape_line(call['state'])}"
    yield from (f"    {line}" for line in decision_lines(call))
    yield from _prefixed("    ", output_text(call))


def output_text(call: ItemCall) -> str:
    """The output of a call; nothing where there is none."""
    output = call.get("output", "")
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def decision_lines(call: ItemCall) -> Iterator[str]:
    """Who let it run, refused it or gave its result, when, and what the model had asked for where that was edited."""
    decision = call.get("decision")
    if decision is None:
        return
    client = decision.get("client")
    by = f"{decision['by']} ({client['kind']})" if client else decision["by"]
    rule = f", rule {decision['ruleId']}" if decision.get("ruleId") else ""
    message = f": {decision['message']}" if decision.get("message") else ""
    yield escape_line(cut(f"decided by {by} at {decision['at']}{rule}{message}", TEXT_SHOWN))
    if decision["edited"]:
        proposed = json.dumps(call.get("arguments"), ensure_ascii=False)
        yield escape_line(f"the model had asked for: {cut(proposed, TEXT_SHOWN)}")


def _prefixed(prefix: str, text: str) -> Iterator[str]:
    for line in escape(cut(text, TEXT_SHOWN)).splitlines():
        yield f"{prefix}{line}"
