"""`abey session list`: the sessions there are, or those that are sought."""

from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.lookup import PAGE
from abey_cli.render import damage_line, session_line


def list_sessions(context: Context) -> int:
    options = context.options
    wanted = {
        "query": options.query,
        "agent": options.agent,
        "state": options.state,
        "attention": options.attention,
        "archived": True if options.archived else None,
    }
    items, damaged = _listed(context, wanted, options.limit)
    sought = any(value is not None for value in wanted.values())
    context.answer({"items": items, "damaged": damaged}, lambda: _show(context, items, damaged, sought=sought))
    return EXIT_OK


def _listed(context: Context, wanted: dict[str, Any], limit: int | None) -> tuple[list[Any], list[Any]]:
    """At most `limit` sessions, and all that are damaged."""
    items: list[Any] = []
    damaged: list[Any] = []
    for page in lookup.pages(context, "agents/sessions", min(limit or PAGE, PAGE), **wanted):
        items += page["items"]
        damaged = page.get("damaged", [])  # each page has them all
        if limit is not None and len(items) >= limit:
            break
    return items[:limit], damaged


def _show(context: Context, items: list[Any], damaged: list[Any], *, sought: bool) -> None:
    console = context.console
    if not items and not damaged:
        console.note("no session is like that" if sought else "no session yet")
    for session in items:
        console.out(session["sessionId"] if console.quiet else session_line(session, console.id))
    for damage in damaged:
        console.err(f"abey: session {damage['sessionId']} is {damage_line(damage)}")
