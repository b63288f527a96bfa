"""`abey run`, `abey session resume` and `abey session wait`: to the answer, or to where somebody must decide."""

from typing import Any

from abey_cli import lookup
from abey_cli.approving import decide
from abey_cli.commands.session import folder_of, start_session
from abey_cli.context import Context
from abey_cli.detaching import asking, detachable, resumable
from abey_cli.failures import usage
from abey_cli.prompts import prompt_or_stdin
from abey_cli.showing import run_code, show_end
from abey_cli.waiting import wait_for


def run(context: Context) -> int:
    if context.options.session is None:
        session = start_session(context, None, "none", prompted=True)
    else:
        session = context.request("agents/get", sessionId=_given_session(context))["session"]
    context.console.note(f"session-id: {session['sessionId']}")
    synchronous = session["executionMode"] == "synchronous" or None
    return _drive(context, "agents/run", session["sessionId"], synchronous=synchronous)


def resume(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    return _drive(context, "agents/resume", session_id, ifRevision=context.options.if_revision)


def wait(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    session = wait_for(context, session_id, context.options.until)
    context.answer({"session": session}, lambda: show_end(context, session))
    return run_code("waited", session)


def _given_session(context: Context) -> str:
    """The session that --session names, with the prompt sent to it if there is one."""
    options = context.options
    for name in ("agent", "agent_file", "title", "cwd"):
        if getattr(options, name) is not None:
            raise usage(f"--{name.replace('_', '-')} is for a new session, not with --session")
    session_id = lookup.session_id(context, options.session)
    prompt = prompt_or_stdin(context, lambda: folder_of(context, session_id))
    if prompt:
        context.request("agents/send", sessionId=session_id, **prompt)
    return session_id


def _drive(context: Context, method: str, session_id: str, **params: Any) -> int:
    options = context.options
    common = {"sessionId": session_id, "until": options.until, "maxSteps": options.max_steps}
    asked: set[str] = set()
    with resumable(context, session_id):
        with detachable(context, session_id):
            result = context.request(method, **common, **params)
        while _may_ask(context, result) and _decided(context, result["session"], asked):
            with detachable(context, session_id):
                result = context.request("agents/run", **common)
    context.answer(result, lambda: show_end(context, result["session"]))
    return run_code(result["outcome"], result["session"])


def _decided(context: Context, session: Any, asked: set[str]) -> bool:
    with asking(context, session["sessionId"]):
        return decide(context, session, asked)


def _may_ask(context: Context, result: Any) -> bool:
    return context.console.interactive and result["outcome"] == "waiting"
