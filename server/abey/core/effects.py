"""Everything the shell is told to do, after the records of the same transition are durable."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ModelRequest
from abey.errors import AbeyError


@dataclass(frozen=True, slots=True)
class AskModel:
    invocation_id: str
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class RunTool:
    """`arguments` is what the text of the call-started record's hash parses to."""

    invocation_id: str
    call_id: str
    tool: Tool
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Abort:
    invocation_id: str


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
class Quarantined:
    """A result nobody waits for any more: it goes nowhere but into a notice."""

    invocation_id: str


Effect = AskModel | RunTool | Abort | AnswerTool | StartGrace | EndRun | Refuse | Quarantined
