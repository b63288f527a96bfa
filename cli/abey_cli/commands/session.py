"""`abey session`: start, step, pause, send, cancel, stop, show."""

from typing import Any

from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.detaching import detachable
from abey_cli.failures import Failure, usage
from abey_cli.following import tell_events
from abey_cli.prompts import folder_option, prompt_or_stdin, prompt_params, read_stdin
from abey_cli.render import diagnostic_line, session_lines, so_far_lines
from abey_cli.showing import naming_the_session, show_missing, show_state, show_way_on, step_code
from abey_cli.transcript import TEXT_SHOWN, transcript_lines
from abey_cli.workspaces import tell_of_untrusted

WARNING = 2


def start(context: Context) -> int:
    with naming_the_session(context):
        session = start_session(context, context.options.id, "step" if context.options.step else "none")
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
    _warn_of(context, agent)
    params = {**agent, **prompt, **context.effect, "cwd": folder, "sessionId": session_id, "title": title, "run": run}
    return context.request("agents/start", **params)


def _warn_of(context: Context, agent: dict[str, str]) -> None:
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
    with naming_the_session(context), detachable(context, session_id):
        result = context.request("agents/step", sessionId=session_id, **prompt, **context.effect)
    show_missing(context, result["session"])
    context.answer(result, lambda: show_state(context, result["session"]))
    if result["outcome"] == "waiting":
        show_way_on(context, result["session"])
    return step_code(result["outcome"], result["session"])


def folder_of(context: Context, session_id: str) -> str:
    """The folder of a session: where its tools run."""
    return str(context.request("agents/get", sessionId=session_id)["session"]["cwd"])


def pause(context: Context) -> int:
    session = context.request("agents/pause", **_target(context), reason=context.options.reason)
    context.answer(session, lambda: show_state(context, session))
    return EXIT_OK


def send(context: Context) -> int:
    options = context.options
    if options.interrupt and options.queue:
        raise usage("say --interrupt or --queue, not both")
    text = read_stdin(context) if options.text == "-" else options.text
    delivery = "interrupt" if options.interrupt else "queue" if options.queue else "turn"
    result = context.request("agents/send", **_target(context), prompt=text, delivery=delivery)
    context.answer(result, lambda: _show_sent(context, result))
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


def show(context: Context) -> int:
    result = context.request("agents/get", sessionId=lookup.session_id(context, context.options.session))
    context.answer(result, lambda: _show(context, result["session"]))
    return EXIT_OK


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


def _show(context: Context, session: Any) -> None:
    page = context.request("agents/transcript", sessionId=session["sessionId"])
    transcript = transcript_lines(page["items"], page["hasMore"])
    for line in (*session_lines(session), *(["", *transcript, ""] if transcript else [])):
        context.console.out(line)
    show_state(context, _without_what_was_shown(session, page["items"]))
    for call in session["pending"]:
        for line in so_far_lines(call):
            context.console.out(line)


def _without_what_was_shown(session: Any, items: list[Any]) -> Any:
    """Without the final text, where the transcript has it whole."""
    output = session.get("output")
    shown = output is not None and len(output) <= TEXT_SHOWN and any(item.get("text") == output for item in items)
    return {name: value for name, value in session.items() if name != "output"} if shown else session
