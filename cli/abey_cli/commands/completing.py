"""`abey session complete`, `approve`, `answer`, `rerun` and `deny`: answer a call that waits."""

import json
from typing import Any

from abey.shared.kinds import EXIT_CONFLICT, EXIT_ERROR, EXIT_OK
from abey_cli import lookup
from abey_cli.always import narrowest
from abey_cli.answers import json_value, value_of
from abey_cli.call_text import hash_line
from abey_cli.calls import show_call, show_diff, show_outcome
from abey_cli.context import Context
from abey_cli.editing import edit, parse_arguments, show_edited
from abey_cli.failures import Failure, refused_input, usage
from abey_cli.reading import read_stdin, read_text
from abey_cli.showing import show_state, show_way_on, step_code
from abey_cli.way_on import ANSWERS

TYPED = ("text", "json", "media", "mixed")
NO_HASH = "0" * 64
"""The hash of no call: the daemon answers with the resolution, or refuses."""


def complete(context: Context) -> int:
    outcome = _given_outcome(context)
    return _answer(context, lookup.token(context, context.options.token), outcome)


def approve(context: Context) -> int:
    options = context.options
    if options.edit and options.arguments is not None:
        raise usage("say --edit or --arguments, not both")
    if options.always is not None and (options.edit or options.arguments is not None):
        raise usage("--always is about the call as it is shown, not as you edit it")
    token, call = _shown(context)
    rule = None if options.always is None or call is None else narrowest(context, call, options.always)

    def send(**arguments: Any) -> int:
        return _answer(context, token, {"kind": "approve", **arguments}, options.hash or _hash_of(call), rule)

    if options.edit and call is not None:
        code = edit(context, call, lambda edited: send(arguments=edited))
        if code is None:
            raise refused_input("nothing was approved")
        return code
    given = _given_arguments(context)
    return send() if given is None else send(arguments=given)


def rerun(context: Context) -> int:
    token, call = _shown(context)
    return _answer(context, token, {"kind": "rerun"}, context.options.hash or _hash_of(call))


def answer(context: Context) -> int:
    options = context.options
    if options.decline and options.words:
        raise usage("give an answer or --decline, not both")
    token, call = _shown(context)
    if not (options.decline or options.words):
        raise usage("give an answer, or --decline")
    asked = (call or {}).get("question")
    outcome = {"kind": "cancel"} if options.decline else {"kind": "answer", "value": value_of(asked, options.words)}
    return _answer(context, token, outcome, call["argumentsHash"] if asked else None)


def deny(context: Context) -> int:
    reason = context.options.reason
    outcome = {"kind": "deny", **({} if reason is None else {"message": reason})}
    return _answer(context, lookup.token(context, context.options.token), outcome)


def _with_the_way_out(failure: Failure, token: str) -> Failure:
    """The same refusal; one of an answer that is none here names the commands that are."""
    way = ANSWERS.get(str(failure.data.get("pendingKind")))
    if failure.kind != "state/invalid" or way is None:
        return failure
    return Failure(f"{failure.message}; use {way.format(token)}", failure.code, failure.data)


def _shown(context: Context) -> tuple[str, Any]:
    """The token, and its call, which is shown whole on stderr; None where it waits no more."""
    token = lookup.token(context, context.options.token)
    call = next((call for call in lookup.pending(context) if call["token"] == token), None)
    if call is not None:
        show_call(context, call)
    return token, call


def _hash_of(call: Any) -> str:
    return NO_HASH if call is None else str(call["argumentsHash"])


def _answer(
    context: Context, token: str, outcome: dict[str, Any], arguments_hash: str | None = None, rule: Any = None
) -> int:
    try:
        result = context.request(
            "agents/complete",
            token=token,
            outcome=outcome,
            argumentsHash=arguments_hash,
            rule=rule,
            resume=context.options.resume or None,
            **context.effect,
        )
    except Failure as failure:
        if isinstance(failure.data.get("diff"), str):
            show_diff(context, failure.data["diff"])
        if isinstance(failure.data.get("argumentsHash"), str):
            context.console.err(hash_line(failure.data))
        raise _with_the_way_out(failure, token) from failure
    context.answer(result, lambda: show_state(context, result["session"]))
    if result["applied"]:
        context.console.note(result["resolution"]["text"])
        if outcome["kind"] in ("approve", "rerun") and not context.console.json:
            show_outcome(context, result, token)
        show_way_on(context, result["session"])
        return _resumed_code(context, result["session"])
    context.console.err(f"already answered: {result['resolution']['text']}")
    return EXIT_OK if _says_the_same(context, token, outcome, result) else EXIT_CONFLICT


def _resumed_code(context: Context, session: Any) -> int:
    """The answer was taken; with --resume a model call may have failed after it."""
    if not context.options.resume:
        return EXIT_OK
    failed = session.get("lastError")
    if failed is None or not failed["kind"].startswith("model/"):
        return step_code("advanced", session)
    context.console.err(f"then the model call failed: {failed['message']} ({failed['kind']})")
    return EXIT_ERROR


def _given_outcome(context: Context) -> dict[str, Any]:
    options = context.options
    given = {name: getattr(options, name) for name in ("file", "text", "data", "error")}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise usage("give one result: FILE, -, --text, --data or --error")
    match named[0]:
        case "error":
            return {"kind": "error", "message": options.error}
        case "text":
            return {"kind": "result", "content": options.text}
        case "data":
            return {"kind": "result", "content": json_value(options.data, "--data")}
        case _:
            text = read_stdin(context) if options.file == "-" else read_text(context, options.file)
            return {"kind": "result", "content": _content(text)}


def _content(text: str) -> Any:
    """The text as it is, unless it is a JSON object with a known `type` (command-line.md)."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value if value.get("type") in TYPED else text


def _given_arguments(context: Context) -> dict[str, Any] | None:
    """The arguments that are to run instead, which are shown; None where those of the call are."""
    given = context.options.arguments
    if given is None:
        return None
    arguments = parse_arguments(read_stdin(context) if given == "-" else read_text(context, given), given)
    show_edited(context, arguments)
    return arguments


def _says_the_same(context: Context, token: str, outcome: dict[str, Any], result: Any) -> bool:
    """Whether the answer that was recorded first has the content of ours."""
    resolution = result["resolution"]
    if resolution["kind"] != outcome["kind"]:
        return False
    match outcome["kind"]:
        case "deny" | "error":
            return bool(resolution.get("message") == outcome.get("message"))
        case "answer" | "cancel":
            return False
        case "approve" | "rerun":
            return _ran(context, token, result, outcome.get("arguments"))
        case _:
            recorded = lookup.recorded_call(context, result["session"]["sessionId"], token)
            return recorded is not None and _plain(recorded.get("output")) == _plain(outcome["content"])


def _ran(context: Context, token: str, result: Any, edited: Any) -> bool:
    """Whether the recorded approval let the same arguments run."""
    recorded = lookup.recorded_call(context, result["session"]["sessionId"], token)
    if recorded is None:
        return False
    proposed = recorded.get("arguments")
    return bool(recorded.get("effectiveArguments", proposed) == (proposed if edited is None else edited))


def _plain(content: Any) -> Any:
    """A text is the same with and without its type."""
    if isinstance(content, dict) and set(content) == {"type", "content"} and content["type"] == "text":
        return content["content"]
    return content
