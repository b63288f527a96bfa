"""Params and results of attaching to a session (protocol.md, Methods)."""

from pydantic import Field

from abey.protocol.base import Flag, Int, Wire
from abey.protocol.params import Name
from abey.protocol.queries import AgentsEvent, SessionParams
from abey.protocol.session import Session
from abey.protocol.transcript import Item


class AttachParams(Wire):
    """`session_id` is a session, and `after` the last event that the client knows; or `*`, and `after` says that of
    each session to attach to. `deltas`: pieces of streaming answers, too; absent as the handshake says."""

    session_id: Name
    after: Int | dict[str, Int] | None = None
    deltas: Flag | None = None


class Snapshot(Wire):
    """What a client knows that has missed nothing: the session, and its newest items, oldest first."""

    session: Session
    items: tuple[Item, ...]


class AttachResult(Wire):
    """What was missed, or a snapshot. `seq` is the number of the last event that they cover."""

    snapshot: Snapshot | None = None
    replay: tuple[AgentsEvent, ...] = ()
    seq: Int = Field(ge=0)


class DetachParams(SessionParams):
    """`*` for all."""
