"""`abey session fork`, `rewind` and `record`: another session of one, one as it was, and one as a value."""

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.commands.session import show_started
from abey_cli.context import Context
from abey_cli.showing import show_state, show_way_on

QUIET = ("userTurn", "completed", "llmTurn")
"""The states that a session can be taken back to (machine.md, Rewinds)."""


def fork(context: Context) -> int:
    options = context.options
    source = lookup.session_id(context, options.session)
    session = context.request("agents/fork", sessionId=source, at=options.at, title=options.title, **context.effect)
    context.answer(session, lambda: show_started(context, session))
    show_way_on(context, session)
    return EXIT_OK


def rewind(context: Context) -> int:
    options = context.options
    target = lookup.session_id(context, options.session)
    left = context.request("agents/get", sessionId=target)["session"]
    session = context.request("agents/rewind", sessionId=target, to=options.to, **context.effect)
    context.answer(session, lambda: show_state(context, session))
    if left["state"] in QUIET and left["revision"] != session["revision"] and not context.console.json:
        context.console.note(f"`abey session rewind {target} --to {left['revision']}` takes it back to where it was")
    show_way_on(context, session)
    return EXIT_OK


def record(context: Context) -> int:
    """Prints JSON, with or without --json: a script keeps it, and a seed takes it."""
    session_id = lookup.session_id(context, context.options.session)
    context.console.value(context.request("agents/record", sessionId=session_id))
    return EXIT_OK
