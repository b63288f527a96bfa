"""What the daemon says unasked (protocol.md, Notifications)."""

from typing import Literal

from abey.protocol.base import Flag, Int, Wire
from abey.protocol.queries import AgentListing, Diagnostic
from abey.protocol.session import Activity, State

EVENT = "agents/event"
SUMMARY = "agents/summary"
OVERFLOW = "agents/overflow"
CONFIG_CHANGED = "agents/configChanged"
DAEMON = "agents/daemon"

Attention = Literal["none", "approval", "external", "question", "uncertain", "error"]


class Summary(Wire):
    """Sent to every client, so that a badge never depends on what is attached. `deleted`: it is in the trash now."""

    session_id: str
    title: str
    cwd: str
    state: State
    activity: Activity
    revision: int
    pending_count: int
    attention: Attention
    deleted: Flag | None = None


class Overflow(Wire):
    """The client does not read: it hears no more of the session, and attaches again after this event."""

    session_id: str
    resume_after: Int


class FileDiagnostics(Wire):
    path: str
    diagnostics: tuple[Diagnostic, ...]


class ConfigChanged(Wire):
    """After each reload: all agents as `agents/list` has them, and what is wrong with each file that is not right."""

    items: tuple[AgentListing, ...]
    diagnostics: tuple[FileDiagnostics, ...]


class DaemonNotice(Wire):
    state: Literal["draining"]
