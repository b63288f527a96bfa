"""What a session has said and done, as clients see it: parts, items, calls, pending calls."""

from typing import Annotated, Literal

from pydantic import Field

from abey.protocol.base import Flag, Int, Json, Timestamp, Wire
from abey.protocol.policy import Disposition, Rule


class TextPart(Wire):
    kind: Literal["text"] = "text"
    text: str


class FilePart(Wire):
    kind: Literal["file"] = "file"
    path: str


class MediaPart(Wire):
    kind: Literal["media"] = "media"
    mime_type: str
    base64_data: str | None = Field(default=None, alias="base64Data")
    path: str | None = None


Part = Annotated[TextPart | FilePart | MediaPart, Field(discriminator="kind")]


class Client(Wire):
    """Who asked: `kind` is vscode, cli, lsp or the client's own word."""

    id: str
    name: str
    kind: str


class CallDecision(Wire):
    """Who answered a call. `ruleId`: the rule that did, then without a client, or the one that came with the answer."""

    by: str
    client: Client | None = None
    at: Timestamp
    edited: Flag
    message: str | None = None
    rule_id: str | None = None


class ItemCall(Wire):
    """A tool call in the transcript. `arguments` is the JSON value, or the model's text where it does not parse."""

    nullable = frozenset({"output"})

    call_id: str
    tool: str
    arguments: Json
    effective_arguments: Json = None
    disposition: Disposition | None = None
    state: str
    decision: CallDecision | None = None
    token: str | None = None
    child_id: str | None = None
    output: Json = None
    output_bytes: Int | None = None
    may_have_run: Flag | None = None
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None


class Item(Wire):
    """One thing in the transcript."""

    item_id: str
    revision: Int
    turn_id: str
    at: Timestamp
    kind: Literal["input", "thinking", "answer", "toolCall", "note"]
    parts: tuple[Part, ...] | None = None
    text: str | None = None
    call: ItemCall | None = None


class Question(Wire):
    kind: Literal["approval", "response"]
    prompt: str
    schema_: dict[str, Json] | None = Field(default=None, alias="schema")


PendingKind = Literal["approval", "external", "question", "uncertain", "running"]


class Pending(Wire):
    """A call that waits for somebody (protocol.md, Pending)."""

    token: str
    session_id: str
    turn_id: str
    call_id: str
    kind: PendingKind
    tool: str
    title: str
    arguments: Json
    arguments_hash: str
    arguments_schema: dict[str, Json] | None = None
    editable: Flag
    cwd: str
    diff: str | None = None
    question: Question | None = None
    reason: str
    rule: Json = None
    suggestions: tuple[Rule, ...] = ()
    started_at: Timestamp | None = None
    child_id: str | None = None
    output_so_far: str | None = None
    created_at: Timestamp
    expires_at: Timestamp | None = None
