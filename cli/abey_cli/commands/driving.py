"""`abey run`, `abey session resume` and `abey session wait`: to the answer, or to where somebody must decide."""

from typing import Any

from abey_cli import lookup
from abey_cli.approving import decide
from abey_cli.commands.session import folder_of, start_session
from abey_cli.context import Context
from abey_cli.detaching import asking, detachable, resumable
from abey_cli.failures import usage
from abey_cli.families import children_at_work, with_family
from abey_cli.following import tell_events
from abey_cli.prompts import prompt_or_stdin
from abey_cli.questioning import question, question_key
from abey_cli.settling import settle
from abey_cli.showing import run_code, show_end
from abey_cli.waiting import wait_for, wait_until

RUN = "/run"
"""What the second request of a command adds to its key."""
KEY_LENGTH = 128 - len(RUN)


def run(context: Context) -> int:
    _check_key(context.options.idempotency_key)
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


def wait(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
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
        context.request("agents/send", sessionId=session_id, **prompt, **context.effect)
    return session_id, bool(prompt)


def _drive(context: Context, method: str, session_id: str, **params: Any) -> int:
    options = context.options
    common = {"sessionId": session_id, "until": options.until, "maxSteps": options.max_steps}
    asked: set[str] = set()
    with resumable(context, session_id):
        with detachable(context, session_id):
            result = _with_children(context, context.request(method, **common, **params), common, asked)
        while _may_ask(context, result) and _decided(context, result["session"], asked):
            with detachable(context, session_id):
                result = _with_children(context, context.request("agents/run", **common), common, asked)
    context.answer(result, lambda: show_end(context, result["session"]))
    return run_code(result["outcome"], result["session"])


def _with_children(context: Context, result: Any, common: dict[str, Any], asked: set[str]) -> Any:
    """A run yields while children work: it goes on with what each of them comes to, until only a decision can move it,
    or a person can be asked for one."""

    def there(session: Any) -> bool:
        return (context.console.interactive and _asks(context, session, asked)) or not children_at_work(
            context, session
        )

    while result["outcome"] == "waiting" and not there(before := result["session"]):
        session = wait_until(context, common["sessionId"], there)
        if _children(session) == _children(before):
            return {**result, "session": session}
        result = context.request("agents/run", **common)
    return result


def _children(session: Any) -> set[str]:
    return {call["childId"] for call in session["pending"] if call.get("childId")}


def _asks(context: Context, session: Any, asked: set[str]) -> bool:
    """Whether there is a call of it, or of a child, that the person has not been asked about."""
    calls = with_family(context, session)["pending"]
    open_calls = [call for call in calls if call["kind"] in ("approval", "question", "uncertain")]
    return any(asked.isdisjoint((call["token"], question_key(call))) for call in open_calls)


def _decided(context: Context, session: Any, asked: set[str]) -> bool:
    session = with_family(context, session)
    with asking(context, session["sessionId"]):
        approved = decide(context, session, asked)
        answered = question(context, session, asked)
        return settle(context, session, asked) or approved or answered


def _may_ask(context: Context, result: Any) -> bool:
    return context.console.interactive and result["outcome"] == "waiting"
