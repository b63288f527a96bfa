"""`abey session run-isolated`: runs in a sandbox what waits for one."""

import json
from collections.abc import Iterator
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.showing import show_way_on

SUMMARY_SHOWN = 80


def run_isolated(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    result = context.request("agents/runIsolated", sessionId=session_id, **context.effect)
    context.answer(result, lambda: _show(context, result))
    show_way_on(context, result["session"])
    return EXIT_OK


def _show(context: Context, result: Any) -> None:
    if not result["ran"]:
        context.console.note("no call was run in a sandbox")
    for call in _recorded(context, result["session"]["sessionId"], set(result["ran"])):
        context.console.out(f"  {escape_line(call['tool'])} ({context.console.id(call['token'])}): {_summary(call)}")


def _summary(call: Any) -> str:
    output = call.get("output", call["state"])
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return escape_line(" ".join(text.split())[:SUMMARY_SHOWN])


def _recorded(context: Context, session_id: str, wanted: set[str]) -> Iterator[Any]:
    """These calls, in the order of the transcript."""
    found: list[Any] = []
    before = None
    while len(found) < len(wanted):
        page = context.request("agents/transcript", sessionId=session_id, before=before)
        calls = [item["call"] for item in page["items"] if item.get("call", {}).get("callId") in wanted]
        found = [*calls, *found]
        if not page["hasMore"] or not page["items"]:
            break
        before = page["items"][0]["itemId"]
    return iter(found)
