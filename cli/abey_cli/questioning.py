"""What a person at the terminal is asked where a tool that runs wants to know something, or an extension before one
does."""

from collections.abc import Mapping
from typing import Any

from abey_cli.answers import field_of, fields_of, value_of, wanted
from abey_cli.asking import Asking, Choice, Desk, End, later


def _answer(desk: Desk) -> End:
    return desk.send({"kind": "answer", "value": _value(desk)})


def _value(desk: Desk) -> Any:
    """Raises Failure for what does not fit, before anything is sent."""
    asked: Mapping[str, Any] = desk.call["question"]
    fields = fields_of(asked)
    if asked["kind"] == "approval" or fields is None:
        return value_of(asked, [desk.ask("yes or no:" if asked["kind"] == "approval" else "answer:") or ""])
    value = {}
    for name, field in fields.items():
        text = desk.ask(wanted(name, field, required=name in asked["schema"].get("required", ())))
        if text:
            value[name] = field_of(field, text)
    return value


QUESTIONING = Asking(
    "question",
    (
        Choice("answer", "a", "you are asked for what it wants to know", _answer),
        Choice(
            "decline",
            "d",
            "the tool is told that nobody answers; a call that has not started is not run",
            lambda desk: desk.send({"kind": "cancel"}),
        ),
        later("`abey session answer`"),
    ),
    resume=True,  # the call goes on by itself, and is waited for
)
