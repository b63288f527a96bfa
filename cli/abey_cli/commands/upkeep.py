"""`abey session rename, archive, unarchive, delete, restore, reopen` and `abey repair`."""

from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import Failure
from abey_cli.render import session_line
from abey_cli.showing import show_state


def rename(context: Context) -> int:
    return _updated(context, title=context.options.title)


def archive(context: Context) -> int:
    return _updated(context, archived=True)


def unarchive(context: Context) -> int:
    return _updated(context, archived=False)


def delete(context: Context) -> int:
    options, console = context.options, context.console
    session_id = lookup.session_id(context, options.session)
    if console.interactive and not options.yes and not console.confirm(f"Move session {session_id} to the trash?"):
        console.err("nothing was deleted")
        return EXIT_ERROR
    force = True if options.force else None
    result = context.request("agents/delete", sessionId=session_id, force=force, **context.effect)
    way_back = f"session {session_id} is in the trash; `abey session restore {session_id}` brings it back"
    context.answer(result, lambda: console.note(way_back))
    return EXIT_OK


def restore(context: Context) -> int:
    session = _restored(context, context.options.session)
    context.answer(session, lambda: context.console.out(session_line(session, context.console.id)))
    return EXIT_OK


def _restored(context: Context, given: str) -> Any:
    """The session of that id, or the only one in the trash whose id begins so."""
    try:
        return context.request("agents/restore", sessionId=given, **context.effect)
    except Failure as failure:
        meant = [one for one in failure.data.get("trashed", ()) if one.startswith(given)]
        if len(meant) != 1 or len(given) < 1:
            raise
        return context.request("agents/restore", sessionId=meant[0], **context.effect)


def reopen(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    result = context.request("agents/reopen", sessionId=session_id, **context.effect)
    if not result["applied"]:
        context.console.note("nothing was wrong with it")
    context.answer(result, lambda: show_state(context, result["session"]))
    return EXIT_OK


def repair(context: Context) -> int:
    """Shows, then does: asked for by an option, or by somebody who has seen what it will do."""
    options, console = context.options, context.console
    session_id = lookup.session_id(context, options.session)
    if options.apply or options.yes:
        return _mend(context, session_id)
    result = context.request("agents/repair", sessionId=session_id)
    context.answer(result, lambda: _show_found(context, result))
    if not result["actions"] or console.json:
        return EXIT_OK
    if not console.interactive:
        console.note(f"nothing was changed; `abey repair {session_id} --apply` does it")
        return EXIT_OK
    if not console.confirm("Do it?"):
        console.err("nothing was changed")
        return EXIT_ERROR
    return _mend(context, session_id)


def _mend(context: Context, session_id: str) -> int:
    result = context.request("agents/repair", sessionId=session_id, apply=True, **context.effect)
    context.answer(result, lambda: _show_mended(context, result))
    return EXIT_OK


def _updated(context: Context, **changed: Any) -> int:
    session_id = lookup.session_id(context, context.options.session)
    session = context.request("agents/update", sessionId=session_id, **changed, **context.effect)
    context.answer(session, lambda: context.console.out(session_line(session, context.console.id)))
    return EXIT_OK


def _show_found(context: Context, result: Any) -> None:
    for found in result["found"]:
        context.console.out(f"found: {escape_line(found)}")
    for action in result["actions"]:
        context.console.out(f"to do: {escape_line(action)}")


def _show_mended(context: Context, result: Any) -> None:
    for found in result["found"]:
        context.console.out(f"found: {escape_line(found)}")
    for action in result["actions"] if result["applied"] else ():
        context.console.out(f"done: {escape_line(action)}")
    if not result["applied"]:
        context.console.note("nothing was to be mended")
    elif (session := result.get("session")) is not None:
        show_state(context, session)
