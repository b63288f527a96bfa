"""A session as a portable value: what `agents/seed` takes, and `agents/record` gives (machine.md, Records).

The transcript is oldest first. Its shapes are those of the harness that it is exchanged with; what that has no word for
has one of ours. A tag may be called `type` or `kind` where people mix these up.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from abey.protocol.base import Flag, Int, Json, SessionId, Wire
from abey.protocol.transcript import Part

LARGEST = 2**53 - 1
"""What every reader of JSON can count to."""

Count = Annotated[Int, Field(ge=0, le=LARGEST)]

Past = Annotated[Int, Field(ge=0, le=LARGEST // 2)]
"""What is counted on from here, and shall be exact for ever."""


def _said(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


Said = Annotated[str, AfterValidator(_said)]
"""A text that is not empty. Not pydantic's own bound: that refuses half a surrogate pair, which a model may say."""


def _with_kind(value: Any) -> Any:
    if isinstance(value, dict) and "type" in value and "kind" not in value:
        return {"kind" if name == "type" else name: inner for name, inner in value.items()}
    return value


def _event(value: Any) -> Any:
    """A text alone is a message of the user, and so is what does not say what it is."""
    value = _with_kind({"text": value} if isinstance(value, str) else value)
    if not isinstance(value, dict):
        return value
    text = {"text": value["content"], "content": None} if isinstance(value.get("content"), str) else {}
    return {"kind": "user-message", **value, **text}


class TextContent(Wire):
    type: Literal["text"] = "text"
    text: str


class MediaContent(Wire):
    """`reference` is `{base64Data}` or `{path}`, or what only its own host can resolve."""

    type: Literal["media"] = "media"
    media_type: str
    reference: Json


class MessageEvent(Wire):
    """Input of a user: a text, or content as the harness has it, or parts as we have them."""

    kind: Literal["user-message", "interrupt"] = "user-message"
    text: str | None = None
    content: tuple[Annotated[TextContent | MediaContent, Field(discriminator="type")], ...] | None = None
    parts: tuple[Part, ...] | None = None
    metadata: dict[str, Json] | None = None

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if sum(one is not None for one in (self.text, self.content, self.parts)) != 1:
            raise ValueError("a message has exactly one of text, content, parts")
        return self


class ApproveEvent(Wire):
    kind: Literal["approve"] = "approve"
    interaction_id: Said
    approved: Flag


class RespondEvent(Wire):
    kind: Literal["respond"] = "respond"
    interaction_id: Said
    value: Json


AnyEvent = Annotated[
    Annotated[MessageEvent | ApproveEvent | RespondEvent, Field(discriminator="kind")], BeforeValidator(_event)
]


class TextOutput(Wire):
    type: Literal["text"] = "text"
    text: str


class ReasoningOutput(Wire):
    """`signature` and `opaque` are the provider's."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    signature: str | None = None
    opaque: Json = None


class JsonOutput(Wire):
    type: Literal["json"] = "json"
    value: Json


class CallOutput(Wire):
    """`raw` is the model's own text, where that is not the plain spelling of `args`."""

    type: Literal["tool-call"] = "tool-call"
    id: Said
    name: str
    args: Json
    raw: str | None = None


Output = Annotated[TextOutput | ReasoningOutput | JsonOutput | CallOutput, Field(discriminator="type")]


class CandidateUsage(Wire):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cost_usd: float | None = Field(default=None, ge=0, strict=True)


class Evidence(Wire):
    request_id: str | None = None
    resolved_model: str | None = None
    warnings: tuple[str, ...] | None = None
    extras: dict[str, Json] | None = None


class ModelCandidate(Wire):
    output: tuple[Output, ...]
    finish_reason: str | None = None
    usage: CandidateUsage | None = None
    evidence: Evidence | None = None


class CompletedResult(Wire):
    """`output` is content as protocol.md has it."""

    kind: Literal["completed"] = "completed"
    call_id: Said
    tool_name: str | None = None
    output: Json


class DeniedResult(Wire):
    kind: Literal["denied"] = "denied"
    call_id: Said
    tool_name: str | None = None
    reason: str


class FailedResult(Wire):
    """`output` is what the model is told, where that is more than the message; the code of a call that was cancelled is
    `tool.cancelled`."""

    kind: Literal["failed"] = "failed"
    call_id: Said
    tool_name: str | None = None
    code: str
    message: str | None = None
    output: Json = None
    details: Json = None


Result = Annotated[
    Annotated[CompletedResult | DeniedResult | FailedResult, Field(discriminator="kind")], BeforeValidator(_with_kind)
]


class SeedInput(Wire):
    kind: Literal["input"] = "input"
    turn_id: Said
    event: AnyEvent


class SeedCandidate(Wire):
    kind: Literal["candidate"] = "candidate"
    turn_id: Said
    step_id: Said
    candidate: ModelCandidate


class SeedResults(Wire):
    kind: Literal["tool-results"] = "tool-results"
    turn_id: Said
    step_id: Said
    results: tuple[Result, ...]


class SeedFinal(Wire):
    kind: Literal["final"] = "final"
    turn_id: Said
    step_id: Said
    output: Json


SeedEntry = Annotated[
    Annotated[SeedInput | SeedCandidate | SeedResults | SeedFinal, Field(discriminator="kind")],
    BeforeValidator(_with_kind),
]
"""One entry of the transcript."""


class Seed(Wire):
    """`revision` is that of the value: the journal starts after it. `turn_count` are the turns begun up to there.

    `transcript` is the JSON of SeedEntry values: a journal keeps it whole, however long it is.
    """

    id: SessionId | None = None
    user_id: Said | None = None
    context: dict[str, Json] | None = None
    turn_count: Past = 0
    revision: Past = 0
    transcript: Json
