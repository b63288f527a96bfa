"""What a completion may say of a call, and what came of it (machine.md, Completing)."""

from typing import Annotated, Literal

from pydantic import Field

from abey.protocol.base import Json, Timestamp, Wire
from abey.protocol.transcript import Client


class Approve(Wire):
    kind: Literal["approve"] = "approve"
    arguments: dict[str, Json] | None = None


class DenyCall(Wire):
    kind: Literal["deny"] = "deny"
    message: str | None = None


class Result(Wire):
    kind: Literal["result"] = "result"
    content: Json


class Error(Wire):
    kind: Literal["error"] = "error"
    message: str


class Answer(Wire):
    kind: Literal["answer"] = "answer"
    value: Json


class CancelCall(Wire):
    kind: Literal["cancel"] = "cancel"


class Rerun(Wire):
    kind: Literal["rerun"] = "rerun"


AnyOutcome = Approve | DenyCall | Result | Error | Answer | CancelCall | Rerun
Outcome = Annotated[AnyOutcome, Field(discriminator="kind")]


class Resolution(Wire):
    """Who answered a call, what, and when; `text` says it in a line for people."""

    kind: str
    by: str
    client: Client | None = None
    at: Timestamp
    message: str | None = None
    text: str
