"""What goes to a model and what comes back, in nobody's wire format."""

from collections.abc import Mapping, Sequence
from typing import Any

from abey.protocol.blocks import Block
from abey.protocol.diffs import FileChange
from abey.protocol.journal import BlobRef
from abey.protocol.session import Usage
from abey.protocol.transcript import Part, Question
from abey.shared.values import Referable, dataclass


@dataclass(frozen=True, slots=True)
class UserMessage:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A call inside an assistant message; `arguments` is the model's own text."""

    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    blocks: tuple[Block, ...]
    calls: tuple[CallMessage, ...]


@dataclass(frozen=True, slots=True)
class ResultMessage:
    """The one result of one call; `content` is content as protocol.md has it."""

    call_id: str
    tool: str
    content: Any
    is_error: bool


Message = UserMessage | AssistantMessage | ResultMessage


@dataclass(frozen=True, slots=True)
class OfferedTool(Referable):
    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. `tries` is how many tries the session made before this one (agent-file.md), and the
    final answer has to be JSON that fits `output_schema`."""

    system_prompt: str
    messages: Sequence[Message]
    tools: tuple[OfferedTool, ...]
    tries: int
    output_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call as the provider gave it: its own id (perhaps empty), the arguments as text."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallRuling:
    """What an extension says of the call at `index` of an answer: denied for a `reason`, or to be asked about first."""

    index: int
    extension: str
    reason: str | None = None
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A whole answer, as the hooks left it. `attempts` is the number of tries it took, and `model` who has answered, in
    the provider's own words, where it says so."""

    blocks: tuple[Block, ...]
    calls: tuple[AskedCall, ...]
    finish_reason: str
    usage: Usage
    attempts: int = 1
    rulings: tuple[CallRuling, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of running a tool: content for the model; `error` is a kind such as `tool/timeout` where it failed.

    `whole` is all it printed, where that is more than `content`, and `changes` what it did to files.
    """

    content: Any
    error: str | None = None
    whole: BlobRef | None = None
    changes: tuple[FileChange, ...] = ()

    @property
    def failed(self) -> bool:
        return self.error is not None
