"""What happens to a session and its turns: input, the model's answers, and the ways a turn ends."""

from typing import ClassVar

from abey.protocol.base import Flag, Int, Json
from abey.protocol.blocks import Block, ProposedCall
from abey.protocol.journal.record import RecordData
from abey.protocol.policy import Policy
from abey.protocol.rulings import Ruling, Tripwire
from abey.protocol.session import Delivery, Driver, TurnEnd, Usage
from abey.protocol.transcript import Client, Part


class Created(RecordData):
    """Always the first record. `config` is the agent file without keys; `env` what its tools get; `workspace` the one
    in which the agent was found by its slug: its file is read only while that is trusted.

    A child says whose it is: of a call of which session, how many sessions are above it, and the policies of these,
    null where one has none. A fork says at which revision it left its source, up to which its records are copies, and
    which of the calls that were undecided there had started in the source."""

    type: ClassVar[str] = "created"
    session_id: str
    agent: str
    agent_file: str | None = None
    workspace: str | None = None
    config: Json
    config_hash: str
    cwd: str
    title: str
    env: dict[str, str] = {}
    client: Client | None = None
    parent: str | None = None
    parent_call: str | None = None
    parent_policies: tuple[Policy | None, ...] | None = None
    depth: Int | None = None
    forked_from: str | None = None
    forked_at: Int | None = None
    ran: tuple[str, ...] | None = None


class Input(RecordData):
    """User input in the transcript; a turn that does not exist yet begins with it. `repairs`: nobody's but ours, which
    says what is wrong with the answer before it."""

    type: ClassVar[str] = "input"
    turn_id: str
    input_id: str
    parts: tuple[Part, ...]
    client: Client | None = None
    repairs: Flag | None = None


class Continued(RecordData):
    """A turn begins without input."""

    type: ClassVar[str] = "continued"
    turn_id: str
    input_id: str
    client: Client | None = None


class Withdrawn(RecordData):
    """An input that waited will never be committed."""

    type: ClassVar[str] = "withdrawn"
    input_id: str
    client: Client | None = None


class InputQueued(RecordData):
    """Without parts it `continues`: it begins a turn without input, if the one before ends without an answer."""

    type: ClassVar[str] = "input-queued"
    input_id: str
    delivery: Delivery
    parts: tuple[Part, ...]
    client: Client | None = None
    continues: Flag | None = None


class ModelRequested(RecordData):
    """Durable before the HTTP request. `request_hash` covers the history that is sent; `config_hash` the rest.

    With `sums_up` the model is asked for a summary of what came up to that revision, and the step goes on after it; of
    the entries of that record itself only those up to `sums_up_place`, where it is one with many.
    """

    type: ClassVar[str] = "model-requested"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "config_hash", "driven_by"})
    turn_id: str
    step_id: str
    invocation_id: str
    request_hash: str
    config_hash: str
    driven_by: Driver = "step"
    sums_up: Int | None = None
    sums_up_place: Int | None = None


class Candidate(RecordData):
    """The model's answer, whole, as the hooks left it. `attempts` counts the tries it took, and `verdicts` are what the
    hooks said of its calls."""

    type: ClassVar[str] = "candidate"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "step_id", "invocation_id"})
    turn_id: str
    step_id: str
    invocation_id: str
    blocks: tuple[Block, ...] = ()
    calls: tuple[ProposedCall, ...] = ()
    finish_reason: str
    usage: Usage = Usage()
    attempts: Int = 1
    verdicts: tuple[Ruling, ...] | None = None


class ModelFailure(RecordData):
    """`usage` is there where the model did answer, with what is of no use."""

    type: ClassVar[str] = "model-failed"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "step_id", "invocation_id"})
    turn_id: str
    step_id: str
    invocation_id: str
    code: str
    message: str
    attempts: Int = 1
    usage: Usage | None = None


class Compacted(RecordData):
    """From here on `summary` is told in place of what came up to revision `up_to`; of the entries of that record itself
    only of those up to `place`, where it is one with many. The journal keeps all of it."""

    type: ClassVar[str] = "compacted"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "invocation_id"})
    turn_id: str
    invocation_id: str
    up_to: Int
    place: Int | None = None
    summary: str
    usage: Usage = Usage()
    attempts: Int = 1


class ToolResults(RecordData):
    """Every call of the batch has its result; ids in model order."""

    type: ClassVar[str] = "tool-results"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "step_id"})
    turn_id: str
    step_id: str
    call_ids: tuple[str, ...]


class Waiting(RecordData):
    """The tool phase is over and these calls are still open."""

    type: ClassVar[str] = "waiting"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "step_id", "driven_by"})
    turn_id: str
    step_id: str
    call_ids: tuple[str, ...]
    driven_by: Driver = "step"


class Final(RecordData):
    """The turn ends with the answer of its last candidate."""

    type: ClassVar[str] = "final"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id", "step_id"})
    turn_id: str
    step_id: str


class Cancelled(RecordData):
    """The turn ends because somebody cancelled it; `attempts` are the tries of the model call it cut."""

    type: ClassVar[str] = "cancelled"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id"})
    turn_id: str
    reason: str | None = None
    by: str
    attempts: Int = 0


class Failed(RecordData):
    """The turn ends without an answer. `tripwire`: an extension ended it; `usage` and `attempts` are of the model call
    that this was about."""

    type: ClassVar[str] = "failed"
    carried: ClassVar[frozenset[str]] = frozenset({"turn_id"})
    turn_id: str
    end: TurnEnd
    kind: str
    message: str
    tripwire: Tripwire | None = None
    usage: Usage | None = None
    attempts: Int | None = None


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
