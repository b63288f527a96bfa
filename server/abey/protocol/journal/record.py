"""What every record of a journal is: data of some type, with its revision and its time."""

from typing import ClassVar

from abey.protocol.base import IdempotencyKey, Int, Json, Timestamp, Wire
from abey.shared.values import dataclass

FORMAT_VERSION = 1


class KeyedRequest(Wire):
    """A request with a key, as its first record tells of it. `body_hash` covers the method and the params."""

    key: IdempotencyKey
    method: str
    body_hash: str


class KeyedOutcome(Wire):
    """How the request with this key ended, as its last record tells: what it was answered beside the session, or
    `{error: {code, message, data}}`."""

    key: IdempotencyKey
    outcome: dict[str, Json]


class RecordData(Wire):
    """The `data` of a record; `type` is its name in the journal. Older readers may skip an `ignorable` one."""

    type: ClassVar[str]
    ignorable: ClassVar[bool] = False
    carried: ClassVar[frozenset[str]] = frozenset()
    """The members that its line lacks where they are what the last record that has them says."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal. Order is by `rev` alone; `at` is for people.

    `request`: it is the first record of that request; `outcomes`: it is the last one of these.
    """

    rev: Int
    at: Timestamp
    data: RecordData
    request: KeyedRequest | None = None
    outcomes: tuple[KeyedOutcome, ...] = ()
