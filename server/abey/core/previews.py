"""What a write to a file would change, for who has to approve it (security.md, Approval)."""

from collections.abc import Callable, Mapping
from typing import Any

from abey.core.agent import Tool
from abey.shared.values import dataclass


@dataclass(frozen=True, slots=True)
class Preview:
    """`preimage` is a lower-case hex SHA-256 of the file as it is now: of its place and of all that is in it, or that
    there is none. `diff` is what the call would make of it, as a unified diff; where it would fail, `fault` says why.
    """

    preimage: str
    diff: str
    fault: str | None = None


Look = Callable[[str, Tool, Mapping[str, Any]], Preview | None]
"""(the session's cwd, the tool, its arguments) -> what the call would change; None where it writes to no file."""


def no_preview(_cwd: str, _tool: Tool, _arguments: Mapping[str, Any]) -> Preview | None:
    return None
