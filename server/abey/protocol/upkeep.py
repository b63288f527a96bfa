"""Params and results of the methods that look after sessions and their journals (protocol.md, Methods)."""

from typing import Literal, Self

from pydantic import Field, model_validator

from abey.protocol.base import Flag, Int, Timestamp, Wire
from abey.protocol.params import Name
from abey.protocol.queries import SessionParams
from abey.protocol.requests import NewSession, SessionEffect
from abey.protocol.session import Session

Format = Literal["jsonl", "markdown", "agents-exe"]
Severity = Literal["ok", "info", "warning", "error"]

OUTPUT_BYTES = 1 << 20
"""The most of a tool's output that one answer holds."""


class UpdateParams(SessionEffect):
    """What is absent stays as it is."""

    title: str | None = Field(default=None, min_length=1, max_length=1000)
    archived: Flag | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.title is None and self.archived is None:
            raise ValueError("title or archived is required")
        return self


class DeleteParams(SessionEffect):
    """`force`: though calls wait, or nobody can tell whether some do."""

    force: Flag = False


class TrashParams(Wire):
    cursor: str | None = None
    limit: Int = Field(default=100, ge=1, le=1000)


class Trashed(Wire):
    """A session in the trash."""

    session_id: str
    deleted_at: Timestamp


class TrashResult(Wire):
    items: tuple[Trashed, ...]
    next_cursor: str | None = None


class ExportParams(SessionParams):
    """`path` is absolute; the daemon writes it."""

    format: Format = "jsonl"
    path: Name


class ExportResult(Wire):
    """`note` says what of the session is not in the file."""

    path: str
    bytes: Int
    note: str | None = None


class ImportParams(NewSession):
    """`path` is absolute; the daemon reads it. Without `format` the file says what it is.

    The new session's id is `session_id`, else the one that the key gives, else the one that the file names; where that
    is taken it gets one of ours.
    With an agent the session goes on with that one instead of what the file says of its own.
    """

    path: Name
    format: Format | None = None
    cwd: str | None = None
    agent: Name | None = None
    agent_file: Name | None = None


class OutputParams(SessionParams):
    """`offset` and `limit` count bytes."""

    call_id: Name
    offset: Int = Field(default=0, ge=0)
    limit: Int = Field(default=65536, ge=1, le=OUTPUT_BYTES)


class OutputResult(Wire):
    """`size` is that of the whole output, in bytes."""

    data: str
    encoding: Literal["utf-8", "base64"]
    size: Int


class Finding(Wire):
    """One thing that was looked at: what is so, and what to do about it where something is to be done."""

    check: str
    severity: Severity
    message: str
    advice: str | None = None
    session_id: str | None = None


class DoctorResult(Wire):
    findings: tuple[Finding, ...]


class RepairParams(SessionEffect):
    """Without `apply` nothing is changed."""

    apply: Flag = False


class RepairResult(Wire):
    """`found`: what is wrong; `actions`: what mends it, done if `applied`; `original`: where the old file is kept."""

    session_id: str
    found: tuple[str, ...]
    actions: tuple[str, ...]
    applied: Flag
    original: str | None = None
    session: Session | None = None


class GcParams(Wire):
    """Whoever asks says whether anything may go."""

    dry_run: Flag


class GcItem(Wire):
    """Something that is not needed any more. `kind` says how it goes: a session to the trash, the rest for good."""

    kind: Literal["session", "trash", "blob", "snapshot", "temporary"]
    path: str
    bytes: Int
    reason: str
    session_id: str | None = None


class GcResult(Wire):
    """`bytes` are those of all items, also of the `omitted` ones: those that one reply has no room for."""

    items: tuple[GcItem, ...]
    omitted: Int | None = None
    bytes: Int
    dry_run: Flag
