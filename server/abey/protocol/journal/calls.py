"""What happens to a call: it is decided, answered, started and finished."""

from typing import ClassVar, Literal

from abey.protocol.base import Flag, Int, Json, Timestamp, Wire
from abey.protocol.diffs import FileChange
from abey.protocol.journal.record import RecordData
from abey.protocol.outcomes import Outcome
from abey.protocol.policy import Disposition, RunIsolated
from abey.protocol.transcript import Client, Question


class CallDecided(RecordData):
    """The verdict on a call, durable before it is shown or run. `preimage` and `diff`: of the file that it would write;
    `isolation`: the sandbox that a call which waits runs in once it is approved.

    A second one renews `tool_hash`, or these two, or whether it is `runnable` here.
    """

    type: ClassVar[str] = "call-decided"
    carried: ClassVar[frozenset[str]] = frozenset({"config_hash"})
    call_id: str
    token: str
    disposition: Disposition
    reason: str | None = None
    rule: Json = None
    runnable: Flag = True
    policy_hash: str
    tool_hash: str
    config_hash: str
    idempotent: Flag = False
    serial: Flag = False
    expires_at: Timestamp | None = None
    preimage: str | None = None
    diff: str | None = None
    isolation: RunIsolated | None = None


class CallResolved(RecordData):
    """What a person, a program or a rule answered. `arguments` is the text that will run, when it was edited,
    and `preimage` the hash of the file that it will write."""

    type: ClassVar[str] = "call-resolved"
    call_id: str
    by: str
    client: Client | None = None
    outcome: Outcome
    arguments: str | None = None
    preimage: str | None = None
    rule_id: str | None = None
    answers_question: Flag = False


class CallExpired(RecordData):
    type: ClassVar[str] = "call-expired"
    call_id: str


class CallAsked(RecordData):
    """A running call asks a person; durable before the question is shown."""

    type: ClassVar[str] = "call-asked"
    call_id: str
    question: Question


class CallStarted(RecordData):
    """Durable before the tool's first side effect."""

    type: ClassVar[str] = "call-started"
    call_id: str
    invocation_id: str
    arguments_hash: str
    child_id: str | None = None


class BlobRef(Wire):
    """A file in the session's `blobs/`, named by the SHA-256 of what it holds."""

    sha256: str
    bytes: Int


class CallFinished(RecordData):
    """What came of a call. `output` is content as protocol.md has it; `error` a kind such as `tool/unknown`.

    `whole` is everything the tool printed, where that is more than the model is told, and `changes` what it did to
    files.
    """

    type: ClassVar[str] = "call-finished"
    call_id: str
    invocation_id: str | None = None
    outcome: Literal["completed", "failed", "cancelled", "denied"]
    output: Json
    error: str | None = None
    may_have_run: Flag | None = None
    whole: BlobRef | None = None
    changes: tuple[FileChange, ...] | None = None
