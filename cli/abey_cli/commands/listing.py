"""`abey session list`: the sessions there are, or those that are sought."""

import time
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import usage
from abey_cli.lookup import PAGE
from abey_cli.render import damage_line, session_line, usage_text


def list_sessions(context: Context) -> int:
    options = context.options
    if options.trash:
        return _list_trash(context)
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


def _list_trash(context: Context) -> int:
    """Those in the trash; of their journals nothing is read, so nothing but the number narrows the list."""
    options = context.options
    for name in ("query", "agent", "state", "attention", "archived"):
        if getattr(options, name):
            raise usage(f"--trash lists all that were deleted, not with {'QUERY' if name == 'query' else f'--{name}'}")
    items: list[Any] = []
    for page in lookup.pages(context, "agents/trash", min(options.limit or PAGE, PAGE)):
        items += page["items"]
        if options.limit is not None and len(items) >= options.limit:
            break
    result = {"items": items[: options.limit]}
    context.answer(result, lambda: _show_trash(context, result["items"]))
    return EXIT_OK


def _show_trash(context: Context, items: list[Any]) -> None:
    if not items:
        context.console.note("the trash is empty")
    for one in items:
        when = "" if context.console.quiet else f"  deleted {escape_line(one['deletedAt'])}"
        context.console.out(
            f"{one['sessionId'] if context.console.quiet else context.console.id(one['sessionId'])}{when}"
        )


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
    if items and console.terminal and not console.quiet:
        from abey_cli.sessions_table import sessions_table  # rich is slow to load, and nobody else wants it

        columns = console.size()[0]
        console.out(sessions_table(items, console.id, time.time(), columns, colours=console.coloured))
    else:
        for session in items:
            console.out(session["sessionId"] if console.quiet else session_line(session, console.id))
    for damage in damaged:
        console.err(f"abey: session {damage['sessionId']} is {damage_line(damage)}")
    if len(items) > 1 and "usage" in result:
        console.note(f"all together: {usage_text(result['usage'])}")
