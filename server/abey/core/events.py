"""Everything that can happen to a session: what clients ask for, and what comes back from the work in flight."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from abey.core.conversation import ModelAnswer, ToolOutcome
from abey.protocol.journal import Created
from abey.protocol.outcomes import AnyOutcome
from abey.protocol.policy import AskedRule, Rule
from abey.protocol.rulings import Tripwire
from abey.protocol.seeds import Seed
from abey.protocol.session import Delivery, Usage
from abey.protocol.transcript import Client, Part, Question
from abey.shared.values import dataclass


@dataclass(frozen=True, slots=True)
class NewInput:
    """Input from a user. `input_id` is the client's own, or None for one of ours."""

    parts: tuple[Part, ...]
    input_id: str | None = None
    delivery: Delivery = "turn"


@dataclass(frozen=True, slots=True)
class Run:
    """How far to drive a session.

    `once`: exactly one step. `ends_with_turn`: stop when this turn has ended, though more input waits. `patient`:
    keep waiting for completions from anywhere. `max_steps` ends only the run.
    """

    once: bool = False
    ends_with_turn: bool = False
    patient: bool = False
    max_steps: int | None = None
    synchronous: bool = False


STEP = Run(once=True)
UNTIL_YIELD = Run()
UNTIL_TURN = Run(ends_with_turn=True, patient=True)
THIS_TURN = Run(ends_with_turn=True)


@dataclass(frozen=True, slots=True)
class Start:
    """With a `seed` the session is what that says, from the revision after its own."""

    created: Created
    input: NewInput | None
    run: Run | None
    seed: Seed | None = None


@dataclass(frozen=True, slots=True)
class Send:
    input: NewInput
    run: Run | None
    client: Client


@dataclass(frozen=True, slots=True)
class Continue:
    """A turn without input; where it cannot begin now it waits in the queue, under `input_id`."""

    run: Run | None
    client: Client
    input_id: str | None = None


@dataclass(frozen=True, slots=True)
class Withdraw:
    input_id: str
    client: Client


@dataclass(frozen=True, slots=True)
class Rewind:
    to: int
    client: Client


@dataclass(frozen=True, slots=True)
class Reseed:
    """A stopped session goes on from a value of elsewhere, under its own title unless another one is given."""

    seed: Seed
    client: Client
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Drive:
    """Step or run. `input` is appended first (only in `completed`); `resume` clears a pause first."""

    run: Run
    client: Client
    input: NewInput | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Complete:
    token: str
    outcome: AnyOutcome
    arguments_hash: str | None
    client: Client
    resume: bool = False
    rule: AskedRule | None = None


@dataclass(frozen=True, slots=True)
class ChangeRules:
    """`add`: the session remembers a rule for itself; `remove`: no longer; `apply`: the rule is kept elsewhere."""

    action: Literal["add", "remove", "apply"]
    rule: Rule
    client: Client | None = None


@dataclass(frozen=True, slots=True)
class Isolate:
    """Run the call of this token, or without one all that wait for a sandbox, in one."""

    token: str | None
    client: Client


@dataclass(frozen=True, slots=True)
class Pause:
    reason: str | None
    client: Client


@dataclass(frozen=True, slots=True)
class Update:
    """What is None stays as it is."""

    title: str | None
    archived: bool | None
    client: Client


@dataclass(frozen=True, slots=True)
class Cancel:
    turn_id: str | None
    reason: str | None
    client: Client


@dataclass(frozen=True, slots=True)
class Stop:
    reason: str | None
    client: Client


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    invocation_id: str
    answer: ModelAnswer


@dataclass(frozen=True, slots=True)
class ModelCallFailed:
    """`details` are for who waits for the call; they are recorded only as the outcome of a request with a key."""

    invocation_id: str
    code: str
    message: str
    attempts: int
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tripped:
    """An extension ends what the model call belongs to. `usage` is there where the model had answered."""

    invocation_id: str
    tripwire: Tripwire
    message: str
    attempts: int = 0
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ToolsListed:
    """The sources of the agent were asked; the context knows what they said."""

    invocation_id: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    invocation_id: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class ToolAsked:
    invocation_id: str
    question: Question


@dataclass(frozen=True, slots=True)
class Aborted:
    """Work that was told to stop has stopped. `attempts` are the tries a cut model call had begun."""

    invocation_id: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class ChildRested:
    """What worked on a child has nothing more to do, though the turn of the child has not ended."""

    invocation_id: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """The turn of a child has ended, whoever drove it; the context knows what came of it."""


@dataclass(frozen=True, slots=True)
class GraceOver:
    """What was told to stop had its time."""

    generation: int


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Some deadline of a waiting call may be over."""


_OfTurns = Send | Complete | Drive | Start | Continue | Withdraw | Isolate
_OfSessions = Rewind | Reseed | ChangeRules | Pause | Update | Cancel | Stop
Command = _OfTurns | _OfSessions
"""What clients ask for."""
News = ModelAnswered | ToolEnded | ModelCallFailed | Tripped | ToolsListed | ToolAsked | Aborted | ChildRested
"""Of work in flight."""

Fact = News | ChildEnded | GraceOver | TimePassed
Event = Command | Fact
Ending = Literal["cancel", "stop"]
