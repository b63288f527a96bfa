"""Everything the shell is told to do, after the records of the same transition are durable."""

from collections.abc import Mapping
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ModelRequest
from abey.errors import AbeyError
from abey.protocol.policy import AnyDecorator, Rule, RunIsolated
from abey.shared.values import dataclass


@dataclass(frozen=True, slots=True)
class AskModel:
    invocation_id: str
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class ListTools:
    """Ask the sources of the agent for their tools; then say ToolsListed, whatever came of it."""

    invocation_id: str


@dataclass(frozen=True, slots=True)
class RunTool:
    """`arguments` is what the text of the call-started record's hash parses to.

    `decorators` are those of its disposition, outer first; with `isolation` it runs in a sandbox, with `preimage` it
    writes only where the file is still that one, and `child_id` is the session that a tool of kind `agent` drives.
    `answer` is what was said when somebody was asked about the call before it ran.
    """

    invocation_id: str
    call_id: str
    tool: Tool
    arguments: Mapping[str, Any]
    decorators: tuple[AnyDecorator, ...] = ()
    isolation: RunIsolated | None = None
    preimage: str | None = None
    child_id: str | None = None
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Abort:
    invocation_id: str


@dataclass(frozen=True, slots=True)
class EndChild:
    """Ends the turn of a child that nothing in flight works on, or stops it where its parent is being stopped; then say
    Aborted."""

    invocation_id: str
    call_id: str
    child_id: str


@dataclass(frozen=True, slots=True)
class AnswerTool:
    """The answer to a tool's question; None where nobody wants to answer."""

    invocation_id: str
    value: Any


@dataclass(frozen=True, slots=True)
class StartGrace:
    """After `seconds`, say GraceOver for this generation."""

    generation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class EndRun:
    """A run is over: `outcome` as protocol.md has it, or the error that ended it."""

    generation: int
    outcome: str
    steps: int
    error: AbeyError | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request is refused, though something was recorded on the way."""

    error: AbeyError


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep a rule that is not of this session alone. This comes first: before the records are written, too."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A result nobody waits for any more: it goes nowhere but into a notice."""

    invocation_id: str


Effect = (
    AskModel
    | ListTools
    | RunTool
    | Abort
    | EndChild
    | AnswerTool
    | StartGrace
    | EndRun
    | Refuse
    | Remember
    | Quarantined
)
