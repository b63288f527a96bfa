"""`abey run`, `abey session resume`, `continue` and `wait`: to the answer, or to where somebody must decide."""

from typing import Any

from abey_cli import lookup
from abey_cli.commands.session import folder_of, start_session
from abey_cli.context import Context
from abey_cli.driven import Drive
from abey_cli.failures import usage
from abey_cli.following import tell_events
from abey_cli.live import live
from abey_cli.prompts import prompt_or_stdin
from abey_cli.showing import run_code, show_end, show_nothing_done
from abey_cli.thinking import thinking_goes
from abey_cli.waiting import wait_for

RUN = "/run"
"""What the second request of a command adds to its key."""
KEY_LENGTH = 128 - len(RUN)


def run(context: Context) -> int:
    _check_key(context.options.idempotency_key)
    thinking_goes(context)  # whatever is wrong with it, nothing is started then
    session, effect = _session_to_run(context)
    context.console.note(f"session-id: {session['sessionId']}")
    if context.options.session is None:
        tell_events(context, session["sessionId"], after=0)
    synchronous = session["executionMode"] == "synchronous" or None
    return _drive(context, "agents/run", session["sessionId"], synchronous=synchronous, **effect)


def resume(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    tell_events(context, session_id)
    return _drive(context, "agents/resume", session_id, **context.effect)


def go_on(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    tell_events(context, session_id)

    def begin() -> Any:
        session = context.request("agents/continue", sessionId=session_id, **context.effect)
        waits = session["pending"] and not session.get("paused")
        return {"outcome": "waiting" if waits else "completed", "session": session}

    session = Drive(context, session_id).run(begin)["session"]
    context.answer(session, lambda: show_end(context, session))
    return run_code("waited", session)


def wait(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    with live(context, session_id):
        session = wait_for(context, session_id, context.options.until)
    context.answer({"session": session}, lambda: show_end(context, session))
    return run_code("waited", session)


def _session_to_run(context: Context) -> tuple[Any, dict[str, Any]]:
    """A new session, or the one that --session names, with its prompt; and what the request to run it takes besides:
    it is the second one under the key where a prompt came first."""
    key = context.options.idempotency_key
    then = {"idempotencyKey": None if key is None else f"{key}{RUN}"}
    if context.options.session is None:
        return start_session(context, None, "none", prompted=True), then
    session_id, sent = _given_session(context)
    session = context.request("agents/get", sessionId=session_id)["session"]
    return session, then if sent else context.effect


def _check_key(key: str | None) -> None:
    if key is not None and len(key) > KEY_LENGTH:
        raise usage(f"the key has {len(key)} characters, and that of `abey run` at most {KEY_LENGTH}")


def _given_session(context: Context) -> tuple[str, bool]:
    """The session that --session names, and whether a prompt was sent to it."""
    options = context.options
    for name in ("agent", "agent_file", "title", "cwd"):
        if getattr(options, name) is not None:
            raise usage(f"--{name.replace('_', '-')} is for a new session, not with --session")
    session_id = lookup.session_id(context, options.session)
    prompt = prompt_or_stdin(context, lambda: folder_of(context, session_id))
    tell_events(context, session_id)
    if prompt:
        _tell_place(context, context.request("agents/send", sessionId=session_id, **prompt, **context.effect))
    return session_id, bool(prompt)


def _tell_place(context: Context, sent: Any) -> None:
    """A prompt that waits is not lost, whatever becomes of the run, and is not to be sent again."""
    if sent["position"]:
        context.console.err(f"input-id: {sent['inputId']}, {sent['position']} in the queue")


def _drive(context: Context, method: str, session_id: str, **params: Any) -> int:
    options = context.options
    drive = Drive(context, session_id, options.until, options.max_steps)
    result = drive.run(lambda: context.request(method, **drive.common, **params))
    context.answer(result, lambda: show_end(context, result["session"]))
    if result["outcome"] == "completed" and result["steps"] == 0 and not context.console.json:
        show_nothing_done(context, result["session"])
    return run_code(result["outcome"], result["session"])
