"""The records of a journal: what happened to a session, in order (journal.md; machine.md, Write before you act).

Format version 1. A record is never changed or removed; a new member is optional, a new type raises the version
unless it is ignorable.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from abey.protocol.base import Flag, Int, Json, Timestamp, Wire
from abey.protocol.blocks import Block, ProposedCall
from abey.protocol.outcomes import Outcome
from abey.protocol.policy import Disposition
from abey.protocol.session import Delivery, Driver, TurnEnd, Usage
from abey.protocol.transcript import Client, Part, Question

FORMAT_VERSION = 1


class RecordData(Wire):
    """The `data` of a record; `type` is its name in the journal."""

    type: ClassVar[str]


class Created(RecordData):
    """Always the first record. `config` is the agent file without keys; `env` what its tools get."""

    type: ClassVar[str] = "created"
    session_id: str
    agent: str
    agent_file: str | None = None
    config: Json
    config_hash: str
    cwd: str
    title: str
    env: dict[str, str] = {}
    client: Client | None = None
    parent: str | None = None
    forked_from: str | None = None


class Input(RecordData):
    """User input in the transcript; a turn that does not exist yet begins with it."""

    type: ClassVar[str] = "input"
    turn_id: str
    input_id: str
    parts: tuple[Part, ...]
    client: Client | None = None


class InputQueued(RecordData):
    type: ClassVar[str] = "input-queued"
    input_id: str
    delivery: Delivery
    parts: tuple[Part, ...]
    client: Client | None = None


class ModelRequested(RecordData):
    """Durable before the HTTP request. `request_hash` covers the history that is sent; `config_hash` the rest."""

    type: ClassVar[str] = "model-requested"
    turn_id: str
    step_id: str
    invocation_id: str
    request_hash: str
    config_hash: str
    driven_by: Driver = "step"


class Candidate(RecordData):
    """The model's answer, whole. `attempts` counts the tries it took."""

    type: ClassVar[str] = "candidate"
    turn_id: str
    step_id: str
    invocation_id: str
    blocks: tuple[Block, ...] = ()
    calls: tuple[ProposedCall, ...] = ()
    finish_reason: str
    usage: Usage
    attempts: Int


class ModelFailure(RecordData):
    type: ClassVar[str] = "model-failed"
    turn_id: str
    step_id: str
    invocation_id: str
    code: str
    message: str
    attempts: Int


class CallDecided(RecordData):
    """The verdict on a call, durable before it is shown or run. A second one only renews `tool_hash`."""

    type: ClassVar[str] = "call-decided"
    call_id: str
    token: str
    disposition: Disposition
    reason: str | None = None
    rule: Json = None
    runnable: Flag
    policy_hash: str
    tool_hash: str
    config_hash: str
    idempotent: Flag = False
    serial: Flag = False
    expires_at: Timestamp | None = None


class CallResolved(RecordData):
    """What a person, a program or a rule answered. `arguments` is the text that will run, when it was edited."""

    type: ClassVar[str] = "call-resolved"
    call_id: str
    by: str
    client: Client | None = None
    outcome: Outcome
    arguments: str | None = None
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


class CallFinished(RecordData):
    """What came of a call. `output` is content as protocol.md has it; `error` a kind such as `tool/unknown`."""

    type: ClassVar[str] = "call-finished"
    call_id: str
    invocation_id: str | None = None
    outcome: Literal["completed", "failed", "cancelled", "denied"]
    output: Json
    error: str | None = None
    may_have_run: Flag | None = None


class ToolResults(RecordData):
    """Every call of the batch has its result; ids in model order."""

    type: ClassVar[str] = "tool-results"
    turn_id: str
    step_id: str
    call_ids: tuple[str, ...]


class Waiting(RecordData):
    """The tool phase is over and these calls are still open."""

    type: ClassVar[str] = "waiting"
    turn_id: str
    step_id: str
    call_ids: tuple[str, ...]
    driven_by: Driver = "step"


class Final(RecordData):
    """The turn ends with the answer of its last candidate."""

    type: ClassVar[str] = "final"
    turn_id: str
    step_id: str


class Cancelled(RecordData):
    """The turn ends because somebody cancelled it; `attempts` are the tries of the model call it cut."""

    type: ClassVar[str] = "cancelled"
    turn_id: str
    reason: str | None = None
    by: str
    attempts: Int = 0


class Failed(RecordData):
    """The turn ends without an answer."""

    type: ClassVar[str] = "failed"
    turn_id: str
    end: TurnEnd
    kind: str
    message: str


class Stopped(RecordData):
    """The session ends. `cancelled_calls` keeps what was unresolved."""

    type: ClassVar[str] = "stopped"
    reason: str | None = None
    by: str
    cancelled_calls: tuple[dict[str, str], ...] = ()
    attempts: Int = 0


class Paused(RecordData):
    type: ClassVar[str] = "paused"
    reason: str | None = None
    by: str


class Resumed(RecordData):
    type: ClassVar[str] = "resumed"
    by: str


class Repaired(RecordData):
    """A torn tail was cut off: whatever is unfinished may have run (journal.md, Recovery)."""

    type: ClassVar[str] = "repaired"
    offset: Int
    cut_bytes: Int
    may_have_run: Flag


RECORD_TYPES: dict[str, type[RecordData]] = {kind.type: kind for kind in RecordData.__subclasses__()}
"""Every record type of this version by its name in the journal: all of them are defined above."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal. Order is by `rev` alone; `at` is for people."""

    rev: Int
    at: Timestamp
    data: RecordData
