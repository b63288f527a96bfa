"""`abey session`: start, step, pause, send, withdraw, cancel, stop."""

from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.detaching import detachable
from abey_cli.failures import Failure, usage
from abey_cli.following import tell_events
from abey_cli.live import live
from abey_cli.prompts import folder_option, prompt_or_stdin, prompt_params
from abey_cli.reading import read_stdin
from abey_cli.render import diagnostic_line
from abey_cli.showing import naming_the_session, show_missing, show_nothing_done, show_state, show_way_on, step_code
from abey_cli.thinking import tell_thinking_so_far, thinking_goes
from abey_cli.workspaces import tell_of_untrusted

WARNING = 2


def start(context: Context) -> int:
    thinking_goes(context)  # whatever is wrong with it, nothing is started then
    with naming_the_session(context):
        session = start_session(context, context.options.id, "step" if context.options.step else "none")
    if context.options.step:
        tell_thinking_so_far(context, session["sessionId"])
    context.answer(session, lambda: show_started(context, session))
    return EXIT_OK


def start_session(context: Context, session_id: str | None, run: str, *, prompted: bool = False) -> Any:
    """A new session of the agent, prompt, title and folder that the options name; `prompted`: it must have a prompt."""
    folder = folder_option(context)
    prompt = prompt_or_stdin(context, lambda: folder)
    if prompted and not prompt:
        raise usage("say what to do: -p TEXT, another prompt option, or text on stdin")
    tell_of_untrusted(context, folder)
    agent = lookup.agent(context, folder)
    title = context.options.title
    warn_of(context, agent)
    params = {**agent, **prompt, **context.effect, "cwd": folder, "sessionId": session_id, "title": title, "run": run}
    return context.request("agents/start", **params)


def warn_of(context: Context, agent: dict[str, str]) -> None:
    """What the daemon has to say of an agent file that it will take: a rule with a typo would let everything run."""
    path = agent.get("agentFile")
    if path is None or context.console.quiet:
        return
    try:
        found = context.request("agents/validate", uri=path)["diagnostics"]
    except Failure:
        return  # the start will say why the file cannot be read
    if any(diagnostic["severity"] < WARNING for diagnostic in found):
        return  # the same
    for diagnostic in found:
        if diagnostic["severity"] == WARNING:
            context.console.note(diagnostic_line(path, diagnostic))


def step(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    prompt = prompt_params(context, lambda: folder_of(context, session_id))
    tell_events(context, session_id)
    quiet = prompt or context.console.json
    before = None if quiet else context.request("agents/get", sessionId=session_id)["session"]["revision"]
    with naming_the_session(context), detachable(context, session_id), live(context, session_id):
        result = context.request("agents/step", sessionId=session_id, **prompt, **context.effect)
    show_missing(context, result["session"])
    context.answer(result, lambda: show_state(context, result["session"]))
    if result["session"]["revision"] == before:
        show_nothing_done(context, result["session"])
    if result["outcome"] in ("waiting", "completed"):
        show_way_on(context, result["session"])
    return step_code(result["outcome"], result["session"])


def folder_of(context: Context, session_id: str) -> str:
    """The folder of a session: where its tools run."""
    return str(context.request("agents/get", sessionId=session_id)["session"]["cwd"])


def pause(context: Context) -> int:
    reason = context.options.reason
    session = context.request("agents/pause", **_target(context), reason=reason)
    context.answer(session, lambda: show_state(context, session))
    if reason is not None and reason != (kept := (session.get("paused") or {}).get("reason")):
        why = "without a reason" if kept is None else f"with the reason '{escape_line(kept)}'"
        context.console.note(f"it was paused before, {why}, and that stays")
    return EXIT_OK


def send(context: Context) -> int:
    options = context.options
    if options.interrupt and options.queue:
        raise usage("say --interrupt or --queue, not both")
    text = read_stdin(context) if options.text == "-" else options.text
    if not text:
        raise usage("there is no text on stdin")
    delivery = "interrupt" if options.interrupt else "queue" if options.queue else "turn"
    result = context.request("agents/send", **_target(context), prompt=text, delivery=delivery)
    context.answer(result, lambda: _show_sent(context, result))
    show_way_on(context, result["session"])
    return EXIT_OK


def withdraw(context: Context) -> int:
    target = _target(context)
    input_id = lookup.queued_input(context, target["sessionId"], context.options.input)
    session = context.request("agents/withdraw", **target, inputId=input_id)
    context.answer(session, lambda: show_state(context, session))
    return EXIT_OK


def cancel(context: Context) -> int:
    return _end(context, "agents/cancel", "no turn is running: nothing was cancelled")


def stop(context: Context) -> int:
    console = context.console
    if not context.options.yes:
        if not console.interactive:
            raise usage("stopping ends a session for good; say --yes")
        if not console.confirm("End this session for good?"):
            console.err("nothing was stopped")
            return EXIT_ERROR
    return _end(context, "agents/stop", "it was stopped before")


def _target(context: Context) -> dict[str, Any]:
    session_id = lookup.session_id(context, context.options.session)
    return {"sessionId": session_id, **context.effect}


def _end(context: Context, method: str, too_late: str) -> int:
    result = context.request(method, **_target(context))
    if not result["applied"]:
        context.console.note(too_late)
    context.answer(result, lambda: show_state(context, result["session"]))
    return EXIT_OK


def show_started(context: Context, session: Any) -> None:
    if context.console.quiet:
        context.console.out(session["sessionId"])
        return
    context.console.out(f"session-id: {session['sessionId']}")
    show_state(context, session)


def _show_sent(context: Context, result: Any) -> None:
    place = f", {result['position']} in the queue" if result["position"] else ""
    context.console.out(f"input-id: {result['inputId']}{place}")
    show_state(context, result["session"])
