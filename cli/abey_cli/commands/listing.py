"""`abey session list`: the sessions there are, or those that are sought."""

from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.lookup import PAGE
from abey_cli.render import damage_line, session_line, usage_text


def list_sessions(context: Context) -> int:
    options = context.options
    wanted = {
        "query": options.query,
        "agent": options.agent,
        "state": options.state,
        "attention": options.attention,
        "archived": True if options.archived else None,
    }
    result = _listed(context, wanted, options.limit)
    sought = any(value is not None for value in wanted.values())
    context.answer(result, lambda: _show(context, result, sought=sought))
    return EXIT_OK


def _listed(context: Context, wanted: dict[str, Any], limit: int | None) -> dict[str, Any]:
    """At most `limit` sessions, all that are damaged, and what they all have used."""
    items: list[Any] = []
    rest: dict[str, Any] = {}
    for page in lookup.pages(context, "agents/sessions", min(limit or PAGE, PAGE), **wanted):
        items += page["items"]
        rest = {name: page[name] for name in ("damaged", "usage") if name in page}  # each page has them all
        if limit is not None and len(items) >= limit:
            break
    return {"items": items[:limit], **rest}


def _show(context: Context, result: dict[str, Any], *, sought: bool) -> None:
    console, items, damaged = context.console, result["items"], result.get("damaged", [])
    if not items and not damaged:
        console.note("no session is like that" if sought else "no session yet")
    for session in items:
        console.out(session["sessionId"] if console.quiet else session_line(session, console.id))
    for damage in damaged:
        console.err(f"abey: session {damage['sessionId']} is {damage_line(damage)}")
    if len(items) > 1 and "usage" in result:
        console.note(f"all together: {usage_text(result['usage'])}")
