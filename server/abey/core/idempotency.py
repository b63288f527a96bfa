"""What is remembered of requests with a key, and how a repeat is known (protocol.md, Idempotency keys)."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from abey.core.ids import key_id
from abey.core.rows import Table
from abey.errors import AbeyError, IdempotencyConflict
from abey.protocol.base import Json
from abey.protocol.journal import KeyedOutcome, KeyedRequest, Record
from abey.shared.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request with a key, as it is asked. `waits`: it is answered when what it starts has ended."""

    request: KeyedRequest
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Remembered:
    """A request that has recorded something. Without an `outcome` it has not ended, or a crash cut it off."""

    key: str
    method: str
    body_hash: str
    outcome: dict[str, Json] | None = None


Requests = Mapping[str, Remembered]
"""By key: finding one costs the same however many there are."""


def keyed_request(key: str, method: str, params: Json) -> KeyedRequest:
    """`params` are those of the request without its key."""
    body = json.dumps([method, params], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return KeyedRequest(key=key, method=method, body_hash=hashlib.sha256(body.encode("ascii")).hexdigest())


def noted(requests: Requests, record: Record) -> Requests:
    """The requests after a record."""
    begun = record.request
    if begun is not None:
        requests = _with(requests, Remembered(begun.key, begun.method, begun.body_hash))
    return ended(requests, record.outcomes) if record.outcomes else requests


def ended(requests: Requests, outcomes: Iterable[KeyedOutcome]) -> Requests:
    """With the outcomes of those that there are."""
    for one in outcomes:
        found = requests.get(one.key)
        if found is not None:
            requests = _with(requests, replace(found, outcome=one.outcome))
    return requests


def _with(requests: Requests, one: Remembered) -> Requests:
    table = requests if isinstance(requests, Table) else Table(requests)
    return table.set(one.key, one)


def recall(requests: Requests, request: KeyedRequest) -> Remembered | None:
    """What is remembered of this request. Raises IdempotencyConflict where its key is another one's."""
    found = requests.get(request.key)
    if found is not None:
        refuse_another(request, found.method, found.body_hash)
    return found


def refuse_another(request: KeyedRequest, method: str, body_hash: str) -> None:
    """Raises IdempotencyConflict where the request is not the one with this method and body."""
    if (request.method, request.body_hash) != (method, body_hash):
        what = "other params" if request.method == method else "another method"
        message = f"this idempotencyKey belongs to an earlier {method} with {what}; a new request needs a new key"
        raise IdempotencyConflict(message, method=method)


def failure(error: AbeyError) -> dict[str, Json]:
    """The outcome of a request that failed."""
    return {"error": {"code": error.code, "message": error.message, "data": error.data}}


def input_id(session_id: str, key: str) -> str:
    """The id of an input that a request with a key brings without one: a repeat names the same."""
    return key_id(f"input {session_id} {key}")


def made_at_once(records: Sequence[Record], request: KeyedRequest | None) -> tuple[Record, ...]:
    """The records of a session that a request makes whole; of requests elsewhere they tell nothing any more."""
    made = [replace(one, request=None, outcomes=()) for one in records]
    if request is not None:
        made[0] = replace(made[0], request=request)
        made[-1] = replace(made[-1], outcomes=(KeyedOutcome(key=request.key, outcome={}),))
    return tuple(made)
