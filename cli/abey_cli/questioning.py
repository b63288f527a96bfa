"""Asks a person at the terminal what a tool that runs wants to know."""

from collections.abc import Mapping
from typing import Any

from abey_cli.answers import field_of, value_of, wanted
from abey_cli.approving import show_call
from abey_cli.context import Context
from abey_cli.failures import Failure

CHOICES = {
    **dict.fromkeys(("a", "answer"), "answer"),
    **dict.fromkeys(("d", "decline"), "cancel"),
    **dict.fromkeys(("l", "later"), "later"),
}
"""No answer is the default."""
CHOICES_EXPLAINED = """\
  answer   you are asked for what it wants to know
  decline  the tool is told that nobody answers
  later    leaves it as it is, to be answered with `abey session answer`
A word or its first letter is an answer."""


def question(context: Context, session: Any, asked: set[str]) -> bool:
    """Asks every question of the session that is not in `asked`, and adds it there. True if one was answered."""
    calls = [call for call in session["pending"] if call["kind"] == "question" and question_key(call) not in asked]
    asked.update(map(question_key, calls))
    answered = [call for call in calls if _ask_one(context, call)]
    return bool(answered)


def question_key(call: Any) -> str:
    """One call may ask again and again."""
    return f"{call['token']} {call['argumentsHash']}"


def _ask_one(context: Context, call: Any) -> bool:
    """Asks until there is an answer; the end of input is *later*. A refusal of the daemon asks again."""
    show_call(context, call)
    while True:
        said = context.console.ask("[a]nswer, [d]ecline, [l]ater?")
        choice = "later" if said is None else CHOICES.get(said.lower())
        if choice == "later":
            return False
        if choice is None:
            context.console.err(CHOICES_EXPLAINED)
            continue
        try:
            outcome = {"kind": "cancel"} if choice == "cancel" else {"kind": "answer", "value": _value(context, call)}
            return _complete(context, call, outcome)
        except Failure as failure:
            context.console.err(f"abey: {failure.message}")
            if failure.kind in ("daemon/unreachable", "arguments/mismatch"):
                raise


def _value(context: Context, call: Any) -> Any:
    """Raises Failure for what does not fit, before anything is sent."""
    asked: Mapping[str, Any] = call["question"]
    schema = asked.get("schema") or {}
    fields = schema.get("properties")
    if asked["kind"] == "approval" or fields is None:
        return value_of(asked, [context.console.ask("yes or no:" if asked["kind"] == "approval" else "answer:") or ""])
    value = {}
    for name, field in fields.items():
        text = context.console.ask(wanted(name, field, required=name in schema.get("required", ())))
        if text:
            value[name] = field_of(field, text)
    return value


def _complete(context: Context, call: Any, outcome: dict[str, Any]) -> bool:
    result = context.request(
        "agents/complete",
        token=call["token"],
        outcome=outcome,
        argumentsHash=call["argumentsHash"],
        resume=True,  # the call goes on by itself, and is waited for
    )
    if not result["applied"]:
        context.console.err(f"already answered: {result['resolution']['text']}")
    return True
