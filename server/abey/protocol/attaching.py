"""Params and results of attaching to a session (protocol.md, Methods)."""

from typing import Annotated, Literal

from pydantic import Field

from abey.protocol.base import Flag, Int, Wire
from abey.protocol.notifications import Summary
from abey.protocol.params import Name
from abey.protocol.queries import AgentsEvent, SessionParams
from abey.protocol.session import Session
from abey.protocol.transcript import Item

Seq = Annotated[Int, Field(ge=0)]


class AttachParams(Wire):
    """`session_id` is a session, and `after` the last event that the client knows; or `*`, and `after` says that of
    each session to attach to, of at most 1000. `deltas`: pieces of streaming answers, too; absent as the handshake
    says."""

    session_id: Name
    after: Seq | Annotated[dict[str, Seq], Field(max_length=1000)] | None = None
    deltas: Flag | None = None


class Snapshot(Wire):
    """What a client knows that has missed nothing: the session, and its newest items, oldest first."""

    session: Session
    items: tuple[Item, ...]


class Attached(Wire):
    """What came of a session that `after` names: attached to only with `ok`; then `session` is as it is now, and `seq`
    the last event that `replay` covers. `expired`: what was missed is not kept any more, or does not fit here."""

    session_id: str
    status: Literal["ok", "expired", "unknown", "damaged"]
    seq: Int | None = None
    session: Session | None = None


class AttachResult(Wire):
    """What was missed and the session as it is now, or a snapshot. `seq` is the number of the last event that they
    cover. With `*`: `sessions` in the order of `after`, `replay` session by session, and `summaries` of the sessions,
    those that want somebody first; `has_more` where there are more than that."""

    snapshot: Snapshot | None = None
    session: Session | None = None
    replay: tuple[AgentsEvent, ...] = ()
    seq: Seq
    sessions: tuple[Attached, ...] | None = None
    summaries: tuple[Summary, ...] | None = None
    has_more: Flag | None = None


class DetachParams(SessionParams):
    """`*` for all."""
