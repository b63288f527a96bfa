"""What happens to a session as lines of text for people; what others wrote is escaped (security.md, Prompt text)."""

from typing import Any

from abey.shared.escaping import escape, escape_line
from abey_cli.render import FINAL
from abey_cli.transcript import transcript_lines


def event_lines(event: dict[str, Any]) -> list[str]:
    """None for what another event tells better."""
    match event["type"]:
        case "item/started" | "item/updated" | "item/completed" if event.get("item"):
            return _item_lines(event["item"])
        case "pending/added":
            pending = event.get("pending", {})
            return [f"waits: {escape_line(pending.get('token', ''))} ({escape_line(pending.get('tool', ''))})"]
        case "pending/resolved" | "pending/expired":
            return [escape_line(event.get("resolution", {}).get("text", "a call waits no more"))]
        case "turn/completed":
            return [f"turn {event.get('n', '')} ended: {escape_line(str(event.get('end', '')))}"]
        case "input/queued":
            return [f"queued: {escape_line(event['inputId'])}"]
        case "input/withdrawn" | "input/rejected" | "input/stopped":
            return [f"{event['type'].removeprefix('input/')}: {escape_line(event['inputId'])}"]
        case "session/seeded":
            return [f"seeded: {event['transcriptEntries']} entries of elsewhere are the transcript now"]
        case "note":
            return [f"note: {line}" for line in escape(event.get("text", "")).splitlines()]
        case "tool/progress" if event.get("message"):
            done = "" if event.get("progress") is None else f" ({event['progress']:g}{_of(event.get('total'))})"
            return [f"{escape_line(str(event['message']))}{done}"]
        case "stale-result":
            return ["note: a tool that was told to end came back late; its result goes nowhere"]
        case "capability/create-failed" | "capability/dispose-failed":
            what = "opened" if event["type"] == "capability/create-failed" else "closed"
            name, why = escape_line(event.get("capabilityId", "")), escape_line(event.get("message", ""))
            return [f"note: {name} could not be {what}: {why}"]
        case "record-failed":
            return [f"error: {escape_line(event.get('message', ''))}"]
        case _:
            return []


def _of(total: Any) -> str:
    return "" if total is None else f" of {total:g}"


def _item_lines(item: Any) -> list[str]:
    """Of a call its start and its end; what is waited for, and what came of that, is told by events of their own."""
    state = item.get("call", {}).get("state")
    return transcript_lines([item], has_more=False) if state is None or state in {*FINAL, "running"} else []
