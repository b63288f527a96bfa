"""What the daemon says unasked (protocol.md, Notifications)."""

from typing import Literal

from abey.protocol.base import Wire
from abey.protocol.session import Activity, State

EVENT = "agents/event"
SUMMARY = "agents/summary"
DAEMON = "agents/daemon"

Attention = Literal["none", "approval", "external", "question", "uncertain", "error"]


class Summary(Wire):
    """Sent to every client, so that a badge never depends on what is attached."""

    session_id: str
    title: str
    cwd: str
    state: State
    activity: Activity
    revision: int
    pending_count: int
    attention: Attention


class DaemonNotice(Wire):
    state: Literal["draining"]
