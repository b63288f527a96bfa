"""Tools of extensions: what a model may call, and what its run has in hand."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from abey.extensions.capabilities import Capabilities, SessionInfo
from abey.protocol.base import Json
from abey.protocol.transcript import Question


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call that runs. `arguments` fit the tool's schema; `capabilities` are the extension's own; `answer` is what
    somebody answered to the question of a hook before the call ran, None where none was asked.

    `ask` has a person asked, who may take days, and gives the value, None where nobody wants to answer: for kind
    `approval` a boolean. `tell` shows a line to people, and never waits.
    """

    session: SessionInfo
    call_id: str
    arguments: Mapping[str, Any]
    capabilities: Capabilities
    ask: Callable[[Question], Awaitable[Json]]
    tell: Callable[[str], None]
    answer: Json = None


@dataclass(frozen=True, slots=True)
class Tool:
    """`name` is what models and policies call it: `[A-Za-z0-9_-]{1,64}`; `parameters` is a JSON schema of an object.

    `run` gives content for the model (protocol.md, Parts and content), or raises ToolError; when it is cancelled it
    ends. `destructive`, `idempotent` and `command`, the parameter that holds a shell command if there is one, mean what
    they do in an agent file. `timeout_seconds` do not count while a person is asked.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[ToolRun], Awaitable[Json]]
    destructive: bool = True
    idempotent: bool = False
    command: str | None = None
    timeout_seconds: float = 120.0
