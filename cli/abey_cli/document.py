"""A session as Markdown for people. Whatever the session holds stands in quotes and fences that nothing in it can end;
it is escaped (security.md, Prompt text)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from abey.shared.escaping import cut, escape, escape_line
from abey_cli.render import session_lines, usage_text
from abey_cli.transcript import TEXT_SHOWN, decision_lines, has_more_lines

if TYPE_CHECKING:
    from abey_cli.protocol_types import Item, ItemCall, Session, TranscriptResult, TranscriptTurn


def document_lines(session: Session, page: TranscriptResult, *, with_revisions: bool = False) -> Iterator[str]:
    """What is known of the session, and its turns with what each used."""
    yield f"# {escape_line(session['title'])}"
    yield ""
    yield from (f"- {line}" for line in session_lines(session))
    yield from (text for line in has_more_lines(page["hasMore"]) for text in ("", line))
    results = page.get("resultsAt", {}) if with_revisions else None
    for turn in page["turns"]:
        yield from _turn(turn, [item for item in page["items"] if item["turnId"] == turn["turnId"]], results)


def _turn(turn: TranscriptTurn, items: Sequence[Item], results: dict[str, int] | None) -> Iterator[str]:
    """`results`: at which revision those of a call were there, where revisions are to be said."""
    yield from ("", f"## Turn {turn['n']}: {escape_line(turn.get('end', 'open'))}")
    for revision, group in groupby(items, lambda item: item["revision"]):
        at_once = [*group]
        yield from () if results is None else ("", f"-- revision {revision}")
        for item in at_once:
            yield ""
            yield from _item(item)
        calls = [item["call"]["callId"] for item in at_once if "call" in item]
        for at in sorted({results[call] for call in calls if call in results} if results else ()):
            yield from ("", f"-- revision {at}: the results")
    yield from ("", f"*Turn {turn['n']} used {usage_text(turn['usage'])}*")


def _item(item: Item) -> Iterator[str]:
    match item["kind"]:
        case "input":
            yield from ("### Input", "")
            for part in item.get("parts", ()):
                yield from _quoted(str(part.get("text", part["kind"])))
        case "toolCall" if "call" in item:
            yield from _call(item["call"])
        case "note":
            yield from _quoted(f"note: {item.get('text', '')}")
        case "thinking":
            yield from ("### Thinking", "", *_quoted(item.get("text", "")))
        case _:
            yield from ("### Answer", "", *_quoted(item.get("text", "")))


def _call(call: ItemCall) -> Iterator[str]:
    edited = " (edited)" if "effectiveArguments" in call else ""
    yield from (f"### Call of {escape_line(call['tool'])}{edited}: {escape_line(call['state'])}", "")
    yield from _fenced(_laid_out(call.get("effectiveArguments", call.get("arguments"))), "json")
    for line in decision_lines(call):
        yield from ("", line)
    if "output" in call:
        output = call["output"]
        yield from ("", *_fenced(output if isinstance(output, str) else _laid_out(output), "text"))


def _laid_out(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _quoted(text: str) -> Iterator[str]:
    return (f"> {line}".rstrip() for line in escape(cut(text, TEXT_SHOWN)).split("\n"))


def _fenced(text: str, language: str) -> Iterator[str]:
    shown = escape(cut(text, TEXT_SHOWN)).removesuffix("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    yield from (f"{fence}{language}", *shown.split("\n"), fence)
