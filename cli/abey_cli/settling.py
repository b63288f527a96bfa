"""Asks a person at the terminal what became of a call that may have run."""

from typing import Any

from abey_cli.approving import show_call, show_outcome
from abey_cli.context import Context
from abey_cli.failures import Failure

CHOICES = {
    **dict.fromkeys(("r", "ran"), "result"),
    **dict.fromkeys(("a", "again"), "rerun"),
    **dict.fromkeys(("f", "failed"), "error"),
    **dict.fromkeys(("l", "later"), "later"),
}
"""No answer is the default, and nothing else runs it again."""
CHOICES_EXPLAINED = """\
  ran      it ran: you say what came of it, and the model is told that
  again    runs it again, as it is shown
  failed   you say what went wrong, and the model is told that
  later    leaves it as it is, to be answered with `abey session complete` or `rerun`
A word or its first letter is an answer."""
WANTED = {
    "result": ("its result, in one line (a file: `abey session complete TOKEN FILE`):", "content"),
    "error": ("what went wrong, in one line:", "message"),
}
"""What is asked next, and what the answer is called."""


def settle(context: Context, session: Any, asked: set[str]) -> bool:
    """Asks about every call of the session that may have run, but those whose token is in `asked`; adds them there.
    True if one was answered."""
    calls = [call for call in session["pending"] if call["kind"] == "uncertain" and call["token"] not in asked]
    asked.update(call["token"] for call in calls)
    answered = [call for call in calls if _settle_one(context, call)]
    return bool(answered)


def _settle_one(context: Context, call: Any) -> bool:
    """Asks until there is an answer; the end of input is *later*. A refusal of the daemon asks again."""
    show_call(context, call)
    while True:
        answer = context.console.ask("it may have run: [r]an, [a]gain, [f]ailed, [l]ater?")
        choice = "later" if answer is None else CHOICES.get(answer.lower())
        if choice == "later":
            return False
        if choice is None:
            context.console.err(CHOICES_EXPLAINED)
            continue
        outcome = _outcome(context, choice)
        if outcome is None:
            continue
        try:
            return _complete(context, call, outcome)
        except Failure as failure:
            context.console.err(f"abey: {failure.message}")
            if failure.kind in ("daemon/unreachable", "arguments/mismatch"):
                raise


def _outcome(context: Context, choice: str) -> dict[str, Any] | None:
    """What is answered; None where the person wrote nothing."""
    if choice not in WANTED:
        return {"kind": choice}
    question, name = WANTED[choice]
    text = context.console.ask(question)
    return {"kind": choice, name: text} if text else None


def _complete(context: Context, call: Any, outcome: dict[str, Any]) -> bool:
    shown = call["argumentsHash"] if outcome["kind"] == "rerun" else None
    result = context.request("agents/complete", token=call["token"], outcome=outcome, argumentsHash=shown)
    if not result["applied"]:
        context.console.err(f"already answered: {result['resolution']['text']}")
    elif outcome["kind"] == "rerun":
        show_outcome(context, result, call["token"])
    return True
