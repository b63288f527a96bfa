"""A pending call as lines of text for people, nothing of it cut; escaped (security.md, Prompt text)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from abey.shared.escaping import escape, escape_line
from abey_cli.render import title_lines

if TYPE_CHECKING:
    from abey_cli.protocol_types import Pending, Question


def call_lines(call: Pending) -> list[str]:
    """The whole call, as it would run, without its diff: nothing is cut."""
    question = call.get("question")
    optional = [
        *([f"reason: {escape_line(call['reason'])}"] if call.get("reason") else []),
        *(_question(question) if question else []),
        *([f"started: {escape_line(call['startedAt'])}"] if call.get("startedAt") else []),
        *(_block("output so far", call["outputSoFar"].rstrip("\n")) if call.get("outputSoFar") else []),
    ]
    return [
        *title_lines(call),
        f"tool: {escape_line(call['tool'])}",
        f"token: {escape_line(call['token'])}",
        f"session: {escape_line(call['sessionId'])}",
        f"cwd: {escape_line(call['cwd'])}",
        "arguments:",
        *(f"  {line}" for line in _argument_lines(call.get("arguments"))),
        *optional,
    ]


def _argument_lines(arguments: Any) -> Iterator[str]:
    """As JSON; where a text of them has several lines, each argument by itself, and that text as it would be read,
    every line of it behind a bar, so that none can pass for another argument."""
    texts = arguments.values() if isinstance(arguments, dict) else ()
    if not any(isinstance(text, str) and "\n" in text for text in texts):
        yield from escape(json.dumps(arguments, indent=2, ensure_ascii=False)).split("\n")
        return
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{escape_line(json.dumps(name, ensure_ascii=False))}:"
            yield from (f"  | {line}" for line in escape(value).split("\n"))
        else:
            yield escape_line(f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}")


def hash_line(call: Pending | dict[str, Any]) -> str:
    """What an approval of the call is bound to."""
    return f"hash: {escape_line(call['argumentsHash'])}"


def so_far_lines(call: Pending) -> list[str]:
    """What a call that has no result has printed, none where that is nothing."""
    return (
        _block(f"{escape_line(call['tool'])} has printed", call["outputSoFar"].rstrip("\n"))
        if call.get("outputSoFar")
        else []
    )


def _question(asked: Question) -> list[str]:
    """In a block where it has several lines: none of them can pass for one of ours."""
    prompt = asked["prompt"]
    shown = _block("question", prompt) if "\n" in prompt else [f"question: {escape(prompt)}"]
    return [*shown, *(_block("answer", json.dumps(asked["schema"], ensure_ascii=False)) if "schema" in asked else [])]


def _block(name: str, text: str) -> list[str]:
    return [f"{name}:", *(f"  {line}" for line in escape(text).split("\n"))]
