"""`abey session diff`: what a call would change in a file, or what a session has changed."""

import re
from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.diffs import patch_lines

_TOKEN = re.compile(r"[0-9a-f]{32}\Z")


def diff(context: Context) -> int:
    subject = _subject(context)
    changes: list[Any] = []
    for page in lookup.pages(context, "agents/diff", **subject):
        changes += page["changes"]
    context.answer({"changes": changes}, lambda: _show(context, changes))
    return EXIT_OK


def _show(context: Context, changes: list[Any]) -> None:
    for change in changes:
        context.console.patch(patch_lines(change["patch"]))
    if not changes:
        context.console.note("no file is changed")


def _subject(context: Context) -> dict[str, Any]:
    """`{token}` or `{sessionId, turnId?}`."""
    given, turn = context.options.subject, context.options.turn
    token = None if turn is not None or given == "@" else _token(context, given)
    if token is not None:
        return {"token": token}
    session_id = lookup.session_id(context, given)
    return {"sessionId": session_id, **({} if turn is None else {"turnId": _turn(context, session_id, turn)})}


def _token(context: Context, given: str) -> str | None:
    """The token of a call that `given` means; None where it can only mean a session."""
    prefix = given.removesuffix("…").removesuffix("...").lower()
    if _TOKEN.match(prefix):
        return prefix
    if len(prefix) < lookup.TOKEN_PREFIX or not re.fullmatch(r"[0-9a-f]+", prefix):
        return None
    return next((call["token"] for call in lookup.pending(context) if call["token"].startswith(prefix)), None)


def _turn(context: Context, session_id: str, given: str) -> str:
    """The id of the turn; `@` is the last one."""
    if given != "@":
        return str(given)
    turn = context.request("agents/get", sessionId=session_id)["session"].get("turn")
    return "@" if turn is None else str(turn["turnId"])
