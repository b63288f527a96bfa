"""What clients did and heard and what the journals say afterwards: values only, which `checker` judges."""

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["ok", "refused", "unknown"]
"""`unknown`: the connection ended before the answer."""


@dataclass(frozen=True, slots=True)
class Winner:
    """Whose answer to a call counts, as a reply says it."""

    kind: str
    client: str
    at: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply said: of which session, at which revision; the input it names; what came of a call."""

    session_id: str
    revision: int
    input_id: str = ""
    applied: bool = False
    winner: Winner | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One request. `subject` is the client's own input id, or a token; `key` the idempotency key. `heard` is the last
    event of the session that the client had heard when the answer came, None where it was not attached."""

    client: str
    method: str
    session_id: str
    start: float
    subject: str = ""
    key: str = ""
    end: float = float("inf")
    outcome: Outcome = "unknown"
    error: str = ""
    said: Said | None = None
    heard: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A durable event as a client got it; `digest` covers all of it."""

    seq: int
    revision: int
    type: str
    digest: str


@dataclass(frozen=True, slots=True)
class Attached:
    """A client is attached: it knew the events up to `after`, and was replayed these, or was given a snapshot of all up
    to `seq`."""

    session_id: str
    after: int | None
    seq: int
    replay: tuple[Told, ...] = ()
    snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """An event came."""

    session_id: str
    told: Told


@dataclass(frozen=True, slots=True)
class Ended:
    """The client is not attached any more: it asked so, was cut off, or lost the connection."""

    session_id: str


Notice = Attached | Event | Ended


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a journal: its type, the input it is about, the token it resolves, the key of its request."""

    rev: int
    type: str
    input_id: str = ""
    token: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """`events` are those that follow from the records, without digests."""

    records: tuple[Record, ...]
    events: tuple[Told, ...] = ()


@dataclass(slots=True)
class History:
    """`strays` are answers that nobody had asked for; `notices` are by client, in the order in which they came; `last`
    is the last event that each client that was attached in the end had heard of each session, after everything was
    quiet."""

    operations: list[Operation] = field(default_factory=list)
    notices: dict[str, list[Notice]] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    journals: dict[str, Journal] = field(default_factory=dict)
    last: dict[tuple[str, str], int] = field(default_factory=dict)
    restarts: int = 0
