"""What calls change in files, and the method that shows it (protocol.md, Methods)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from abey.protocol.base import Int, Wire
from abey.protocol.params import Name, exactly_one


class FileChange(Wire):
    """A change of one file: `path` is relative to the session's cwd, and `patch` a unified diff, bounded."""

    path: str
    kind: Literal["created", "modified", "deleted"]
    patch: str


class DiffParams(Wire):
    """Of one call, pending or done, or of all that a session, or a turn of it, has changed."""

    token: Name | None = None
    session_id: Name | None = None
    turn_id: Name | None = None
    cursor: str | None = None
    limit: Int = Field(default=200, ge=1, le=1000)

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if self.turn_id is not None and self.session_id is None:
            raise ValueError("turnId is one of a session: sessionId is required with it")
        return exactly_one(self, "token", "session_id")


class DiffResult(Wire):
    """In the order in which they were made; one file may stand there more than once."""

    changes: tuple[FileChange, ...]
    next_cursor: str | None = None
