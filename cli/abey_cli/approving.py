"""Asks a person at the terminal about a call, and edits its arguments."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from abey.shared.escaping import cut
from abey_cli import lookup
from abey_cli.always import choose
from abey_cli.context import Context
from abey_cli.diffs import patch_lines
from abey_cli.failures import Failure, refused_input
from abey_cli.render import call_lines, hash_line

CHOICES = {
    **dict.fromkeys(("a", "approve"), "approve"),
    **dict.fromkeys(("w", "always"), "always"),
    **dict.fromkeys(("e", "edit"), "edit"),
    **dict.fromkeys(("d", "deny"), "deny"),
    **dict.fromkeys(("l", "later"), "later"),
}
"""No answer is the default, and nothing else is an approval."""
CHOICES_EXPLAINED = """\
  approve  runs the call as it is shown
  always   runs it, and lets you choose a rule by which such calls run without asking
  edit     opens its arguments in your editor, and then runs it with those
  deny     runs nothing; the model is told so
  later    leaves it as it is, to be answered with `abey session approve` or `deny`
A word or the letter in brackets is an answer."""


def decide(context: Context, session: Any, asked: set[str]) -> bool:
    """Asks about every call of the session that waits for an approval, but those whose token is in `asked`; adds
    them there. True if one was answered."""
    calls = [call for call in session["pending"] if call["kind"] == "approval" and call["token"] not in asked]
    asked.update(call["token"] for call in calls)
    answered = [call for call in calls if _decide_one(context, call)]
    return bool(answered)


def show_call(context: Context, call: Any) -> None:
    """The whole call on stderr."""
    for line in call_lines(call):
        context.console.err(line)
    if call.get("diff"):
        show_diff(context, call["diff"])
    context.console.err(hash_line(call))


def show_diff(context: Context, diff: str) -> None:
    """What the call would make of a file, on stderr."""
    context.console.err("diff:")
    context.console.err_patch(patch_lines(diff), "  ")


def show_edited(context: Context, arguments: dict[str, Any]) -> None:
    """The arguments that will run instead of those that were shown."""
    context.console.err("with these arguments instead:")
    for line in json.dumps(arguments, indent=2, ensure_ascii=False).splitlines():
        context.console.err(f"  {line}")


def show_outcome(context: Context, result: Any, token: str) -> None:
    """What came of a call that was let run, in a line on stderr."""
    try:
        call = lookup.recorded_call(context, result["session"]["sessionId"], token)
    except Failure:
        return  # the answer is recorded; only what is said about it is missing
    if call is not None and "output" in call:
        output = call["output"] if isinstance(call["output"], str) else json.dumps(call["output"])
        told = f": {cut(output.strip(), OUTCOME_SHOWN)}" if output.strip() else ", without output"
        context.console.note(f"{call['tool']} {call['state']}{told}")


def edited_arguments(env: Mapping[str, str], arguments: Any) -> Any:
    """`arguments` as the person's editor leaves them. Raises Failure (exit 1) where it fails or leaves no JSON."""
    editor = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="abey-") as folder:
        path = os.path.join(folder, "arguments.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(arguments, file, indent=2, ensure_ascii=False)
            file.write("\n")
        try:
            status = subprocess.run([*editor, path]).returncode
        except OSError as error:
            raise refused_input(f"the editor {editor[0]!r} cannot be started: {error.strerror}") from error
        if status != 0:
            raise refused_input(f"the editor ended with status {status}: nothing was approved")
        with open(path, "rb") as file:
            return parse_arguments(file.read(), "what the editor left")


def parse_arguments(text: bytes | str, named: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises Failure (exit 1) where there is none."""
    try:
        arguments = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise refused_input(f"{named} is no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise refused_input(f"{named} is no JSON object")
    return arguments


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _decide_one(context: Context, call: Any) -> bool:
    """Asks until there is an answer; the end of input is *later*. A refusal of the daemon asks again."""
    show_call(context, call)
    while True:
        answer = context.console.ask("[a]pprove, al[w]ays, [e]dit, [d]eny, [l]ater?")
        choice = "later" if answer is None else CHOICES.get(answer.lower())
        if choice == "later":
            return False
        rule = choose(context, call) if choice == "always" else None
        if choice is None:
            context.console.err(CHOICES_EXPLAINED)
        elif choice != "always" or rule is not None:
            try:
                return _complete(context, call, choice, rule)
            except Failure as failure:
                context.console.err(f"abey: {failure.message}")
                if failure.kind in ("daemon/unreachable", "arguments/mismatch"):
                    raise


OUTCOME_SHOWN = 400
"""Characters of an output that stand in the line about it."""


def _complete(context: Context, call: Any, choice: str, rule: Any) -> bool:
    outcome: dict[str, Any] = {"kind": "deny"} if choice == "deny" else {"kind": "approve"}
    if choice == "edit":
        edited = edited_arguments(context.env, call.get("arguments"))
        if edited == call.get("arguments"):
            raise refused_input("nothing was edited, and nothing approved")
        outcome["arguments"] = edited
        show_edited(context, edited)
    hash_shown = None if choice == "deny" else call["argumentsHash"]
    result = context.request(
        "agents/complete", token=call["token"], outcome=outcome, argumentsHash=hash_shown, rule=rule
    )
    if not result["applied"]:
        context.console.err(f"already answered: {result['resolution']['text']}")
    elif choice != "deny":
        show_outcome(context, result, call["token"])
    return True
