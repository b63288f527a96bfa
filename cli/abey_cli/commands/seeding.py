"""`abey session seed`: a session of a portable value."""

from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.answers import json_value
from abey_cli.commands.session import show_started, warn_of
from abey_cli.context import Context
from abey_cli.failures import Failure
from abey_cli.prompts import folder_option
from abey_cli.reading import read_stdin, read_text
from abey_cli.showing import show_way_on
from abey_cli.workspaces import tell_of_untrusted


def seed(context: Context) -> int:
    options = context.options
    if options.file == "-":
        given = json_value(read_stdin(context), "what came on stdin")
    else:
        given = json_value(read_text(context, options.file), options.file)
    folder = folder_option(context)
    tell_of_untrusted(context, folder)
    value = _seed(given, options.id)
    agent = _agent(context, folder, value)
    warn_of(context, agent)
    session = context.request("agents/seed", **agent, **context.effect, seed=value, cwd=folder, title=options.title)
    context.answer(session, lambda: show_started(context, session))
    show_way_on(context, session)
    return EXIT_OK


def _agent(context: Context, folder: str, value: Any) -> dict[str, str]:
    """The agent of a new session. One that goes on has its own, and needs none unless an option names one."""
    options = context.options
    session_id = value.get("id") if isinstance(value, dict) else None
    if options.agent is None and options.agent_file is None and isinstance(session_id, str):
        try:
            context.request("agents/get", sessionId=session_id)
        except Failure as failure:
            if failure.kind != "session/unknown":
                raise
        else:
            return {}
    return lookup.agent(context, folder)


def _seed(given: Any, session_id: str | None) -> Any:
    """The seed that a file holds, or that the record in it is, as `session record` prints one; under an id of one's
    own, if that is wanted."""
    value = given
    if isinstance(given, dict) and isinstance(given.get("session"), dict) and "version" in given:
        told = given["session"]
        names = [name for name in ("id", "userId", "context", "turnCount") if name in told]
        value = {**{name: told[name] for name in names}, "revision": given.get("revision")}
        value["transcript"] = given.get("transcript")
    return {**value, "id": session_id} if session_id is not None and isinstance(value, dict) else value
