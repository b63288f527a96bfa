"""Sessions and calls as lines of text for people; what others wrote is escaped (security.md, Prompt text)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from abey.shared.escaping import cut, escape_line

if TYPE_CHECKING:
    from abey_cli.protocol_types import Damage, Diagnostic, Item, ItemCall, Pending, Session, Usage

FINAL = frozenset({"completed", "failed", "denied", "cancelled", "expired"})
WAITING = frozenset({"deferred", "uncertain"})
UNDECIDED = frozenset({"undecided", "proposed"})
ARGUMENTS_SHOWN = 200
TITLE_SHOWN = 60

Shorten = Callable[[str], str]
"""A name as it is shown: whole, or shortened on a terminal."""


def last_batch(items: Sequence[Item]) -> list[ItemCall]:
    """The calls of the last answer: the tool calls that end the transcript and stand at one revision."""
    batch: list[ItemCall] = []
    revision: int | None = None
    for item in reversed(items):
        call = item.get("call")
        if call is None and item["kind"] == "note":
            continue
        if call is None or revision not in (None, item["revision"]):
            break
        revision = item["revision"]
        batch.insert(0, call)
    return batch


def state_lines(session: Session, batch: Sequence[ItemCall], shorten: Shorten) -> list[str]:
    """The state block (command-line.md, A session): without the final text, which `Session.output` holds."""
    return [*_state(session, batch, shorten), *_remarks(session)]


def pending_lines(call: Pending, shorten_token: Shorten, shorten_id: Shorten) -> list[str]:
    """A pending call in the list of all."""
    arguments = escape_line(cut(json.dumps(call.get("arguments"), ensure_ascii=False), ARGUMENTS_SHOWN))
    return [
        _token_line(call, shorten_token).strip(),
        *(f"  {line}" for line in title_lines(call)),
        f"  session: {shorten_id(call['sessionId'])}",
        f"  kind: {escape_line(call['kind'])}",
        f"  arguments: {arguments}",
        *([f"  output so far: {_last_line(call['outputSoFar'])}"] if call.get("outputSoFar") else []),
    ]


def title_lines(call: Pending) -> list[str]:
    """The title, where a policy put a label before it."""
    title = call.get("title", "")
    return [] if not title or title.startswith(call["tool"]) else [f"title: {escape_line(cut(title, ARGUMENTS_SHOWN))}"]


def session_line(session: Session, shorten: Shorten) -> str:
    """A session in the list of all."""
    waiting = sum(call["kind"] != "running" for call in session["pending"])
    doing = session["activity"] if session["activity"] != "idle" else session["state"]
    child = ["child"] if session.get("parent") else []
    told = [doing, *([f"{waiting} waiting"] if waiting else []), *child, *set_aside(session)]
    named = [session["agent"], cut(session["title"], TITLE_SHOWN), session["cwd"]]
    return "  ".join([shorten(session["sessionId"]), ", ".join(told), *map(escape_line, named)])


def session_lines(session: Session) -> list[str]:
    """What `show` says of a session before its state block."""
    return [
        f"session-id: {session['sessionId']}",
        f"title: {escape_line(session['title'])}",
        f"agent: {escape_line(session['agent'])}{' (stale)' if session['configState'] == 'stale' else ''}",
        *([f"parent: {escape_line(session['parent'])}"] if session.get("parent") else []),
        *([f"forked from: {escape_line(session['forkedFrom'])}"] if session.get("forkedFrom") else []),
        f"cwd: {escape_line(session['cwd'])}",
        f"revision: {session['revision']}",
        f"activity: {escape_line(', '.join([session['activity'], *set_aside(session)]))}",
        f"updated: {escape_line(session['updatedAt'])}",
        f"usage: {usage_text(session['usage'])}",
        *missing_lines(session),
        *([damage_line(session["damaged"])] if session.get("damaged") else []),
    ]


def missing_lines(session: Session) -> list[str]:
    """The tools that the session goes on without, and why."""
    return [f"without {_missing(name)}: {escape_line(why)}" for name, why in session.get("missingTools", {}).items()]


def _missing(name: str) -> str:
    return f"the tools {escape_line(name)}*" if name.endswith("_") else f"the tool {escape_line(name)}"


def set_aside(session: Session) -> list[str]:
    """Why nobody goes on with it by itself, or it is in no list."""
    return [*(["paused"] if session.get("paused") else []), *(["archived"] if session.get("archived") else [])]


def usage_text(usage: Usage) -> str:
    """What was used, and what it cost where that is known."""
    cached = f" ({usage['cachedTokens']} cached)" if usage.get("cachedTokens") else ""
    cost = f"{usage['cost']:.6g}" if usage.get("cost") is not None else "unknown"
    return f"{usage['inputTokens']} tokens in{cached}, {usage['outputTokens']} out, cost {cost}"


def damage_line(damage: Damage) -> str:
    """What is wrong with a session that can only be looked at, where, and the way out."""
    place = f" at byte {damage['offset']}" if "offset" in damage else ""
    way_out = f"`abey repair {escape_line(damage['sessionId'])}` says what can be done"
    return f"damaged{place}: {escape_line(damage['reason'])}; {way_out}"


def diagnostic_line(path: str, diagnostic: Diagnostic) -> str:
    """`file:line:col: severity: message`, line and column counted from 1."""
    start = diagnostic["range"]["start"]
    severity = {1: "error", 2: "warning", 3: "information"}.get(diagnostic["severity"], "hint")
    place = f"{escape_line(path)}:{start['line'] + 1}:{start['character'] + 1}"
    return f"{place}: {severity}: {escape_line(diagnostic['message'])}"


def _state(session: Session, batch: Sequence[ItemCall], shorten: Shorten) -> list[str]:
    match session["state"]:
        case "userTurn":
            return ["State: UserTurn (ready for LLM)"]
        case "llmTurn":
            undecided = [call for call in batch if call["state"] in UNDECIDED] or batch
            return ["State: LlmTurn", *(f"  tool call: {escape_line(call['tool'])}" for call in undecided)]
        case "partialUserTurn":
            return ["State: PartialUserTurn", *_counts(batch), *(_token_line(c, shorten) for c in session["pending"])]
        case "completed":
            return _completed(session)
        case "stopped":
            return ["State: Stopped"]
        case other:
            return [f"State: {escape_line(other)}"]


def _completed(session: Session) -> list[str]:
    turn = session.get("turn")
    if turn is None:
        return ["State: empty session"]
    end = turn.get("end", "answered")
    return ["State: LlmTurn (completed)"] if end == "answered" else [f"State: LlmTurn ({escape_line(end)})"]


def _counts(batch: Sequence[ItemCall]) -> list[str]:
    states = [call["state"] for call in batch]
    completed = sum(state in FINAL for state in states)
    deferred = sum(state in WAITING for state in states)
    running = states.count("running")
    return [
        f"  completed: {completed}",
        f"  deferred:  {deferred}",
        f"  ready:     {len(states) - completed - deferred - running}",
        *([f"  running:   {running}"] if running else []),
    ]


def _last_line(text: str) -> str:
    """The end of what was printed, in a line; `show_call` has more of it."""
    return escape_line(cut(text.rstrip().rsplit("\n", 1)[-1], ARGUMENTS_SHOWN))


def _token_line(call: Pending, shorten: Shorten) -> str:
    return f"  token: {shorten(call['token'])} ({escape_line(call['tool'])}) {escape_line(_reason(call))}"


def _reason(call: Pending) -> str:
    question = call.get("question")
    match call["kind"]:
        case "question" if question:
            return question["prompt"]
        case "uncertain":
            started = call.get("startedAt")
            return f"may have run, started {started}" if started else "may have run, and nobody can tell whether it did"
        case "running":
            return f"running: {call['reason']}" if call.get("childId") and call.get("reason") else "running"
        case "external":
            return call.get("reason") or "waits for a result from outside"
        case _:
            return call.get("reason") or "approval required"


def _remarks(session: Session) -> list[str]:
    lines = []
    if paused := session.get("paused"):
        lines.append(f"  paused: {escape_line(paused.get('reason') or 'no reason given')}")
    answered = session["state"] == "completed" and session.get("turn", {}).get("end") == "answered"
    if (error := session.get("lastError")) and not answered:
        lines.append(f"  error: {escape_line(error['message'])} ({escape_line(error['kind'])})")
    if session["queued"]:
        lines.append(f"  queued: {len(session['queued'])}")
    return lines
