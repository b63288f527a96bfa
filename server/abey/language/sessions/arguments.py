"""The document of a pending call: what is written in it at first, and what is answered with what stands there."""

import json
import math
from typing import Literal, get_args

from abey.core.completing import IN_WORDS
from abey.errors import InvalidArguments, InvalidState
from abey.language.sessions.harmless import json_text
from abey.protocol import outcomes as o
from abey.protocol.base import Json
from abey.protocol.transcript import Pending
from abey.runtime.agents.jsonc import BadSyntax, parse

Decision = Literal["approve", "deny", "result", "rerun", "failed", "answer"]
"""What a code action does with the document."""

DECISIONS: tuple[Decision, ...] = get_args(Decision)

TITLES: dict[Decision, str] = {
    "approve": "Approve what is written",
    "deny": "Deny",
    "result": "Complete with this result",
    "rerun": "Run again",
    "failed": "Failed",
    "answer": "Answer",
}
_OFFERED: dict[str, tuple[Decision, ...]] = {
    "approval": ("approve", "deny"),
    "external": ("result", "deny"),
    "uncertain": ("result", "rerun", "failed"),
    "question": ("answer",),
}
IT_RAN = "It ran, result is what is written"


def offered(pending: Pending) -> tuple[Decision, ...]:
    """What can be done with a call from its document, in the order in which editors show it."""
    return _OFFERED.get(pending.kind, ())


def title(pending: Pending, decision: Decision) -> str:
    return IT_RAN if decision == "result" and pending.kind == "uncertain" else TITLES[decision]


def first_text(pending: Pending) -> str:
    """What the document of a call holds before anybody writes in it: the arguments, or room for an answer."""
    return f"{json_text(first_value(pending))}\n"


def first_value(pending: Pending) -> Json:
    """The arguments as proposed; of a question an answer that grants nothing and says nothing."""
    question = pending.question
    if pending.kind != "question" or question is None:
        return pending.arguments
    if question.kind == "approval":
        return False
    return "" if question.schema_ is None else {}


def schema_of(pending: Pending) -> dict[str, Json] | None:
    """The JSON schema of what is to be written: of arguments and of answers, while a result can be anything."""
    if pending.kind == "question":
        question = pending.question
        if question is not None and question.kind == "approval":
            return {"type": "boolean"}
        return question.schema_ if question else None
    return pending.arguments_schema if pending.kind == "approval" else None


def outcome(pending: Pending, decision: Decision, text: str) -> o.AnyOutcome:
    """What the document's text says to the call. Raises InvalidState for a decision that is not offered, and
    InvalidArguments for a text that cannot be meant."""
    if decision not in offered(pending):
        names = ", ".join(offered(pending)) or "nothing"
        message = f"{decision} is nothing to do with a call that {IN_WORDS[pending.kind]}; what can be done: {names}"
        raise InvalidState(message, pendingKind=pending.kind, legal=list(offered(pending)))
    match decision:
        case "approve":
            return _approval(pending, text)
        case "deny":
            return o.DenyCall()
        case "rerun":
            return o.Rerun()
        case "failed":
            return o.Error(message=_failure(pending, text))
        case "result":
            return o.Result(content=_written(pending, text))
        case "answer":
            return o.Answer(value=_value(text))


def unwritten(pending: Pending, text: str) -> bool:
    """Whether the document still says what it said at first: the same text, or another spelling of the same value."""
    if text.strip() == first_text(pending).strip():
        return True
    try:
        return _same(parse(text).value, first_value(pending))
    except BadSyntax:
        return False


def _approval(pending: Pending, text: str) -> o.Approve:
    """Arguments that nobody edited are left out, so that the model's own text runs."""
    if text.strip() == first_text(pending).strip():
        return o.Approve()
    value = _value(text)
    if _same(value, first_value(pending)):
        return o.Approve()
    if not isinstance(value, dict):
        raise InvalidArguments("arguments are a JSON object", errors=["the document holds no object"])
    return o.Approve(arguments=value)


def _written(pending: Pending, text: str) -> Json:
    if unwritten(pending, text):
        message = "the document still holds the arguments; write the result in their place, and try again"
        raise InvalidArguments(message, errors=["the document holds the arguments"])
    return _value(text)


def _failure(pending: Pending, text: str) -> str:
    """What was written, if somebody wrote why."""
    if unwritten(pending, text):
        return "it failed"
    value = _value(text)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(text: str) -> Json:
    """Raises InvalidArguments where the text is no JSON, or says a thing twice."""
    try:
        document = parse(text)
    except BadSyntax as fault:
        line = text.count("\n", 0, fault.start) + 1
        message = f"line {line} of the document is not JSON: {fault.message}"
        raise InvalidArguments(f"{message}; correct it, and try again", errors=[message]) from fault
    if document.duplicates:
        message = f"{document.duplicates[0].pointer} stands twice in the document"
        raise InvalidArguments(f"{message}; remove one of them, and try again", errors=[message])
    return document.value


def _same(one: Json, other: Json) -> bool:
    """JSON values that are spelled alike: 1 is not 1.0, nor true, and 0.0 not -0.0; the order of an object's keys says
    nothing."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case float(), float():
            return one == other and math.copysign(1, one) == math.copysign(1, other)
        case _:
            return type(one) is type(other) and bool(one == other)
