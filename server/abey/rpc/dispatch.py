"""Methods bound to their handlers; params are judged and results are measured here and nowhere else."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import ValidationError

from abey.errors import TooLarge
from abey.protocol.base import Json, Wire
from abey.protocol.handshake import AgentsServerCapabilities
from abey.protocol.methods import Method, P, R
from abey.rpc.faults import InvalidParams, error_object, invalid_params
from abey.rpc.messages import encode
from abey.rpc.peer import Peer

REPLY_BYTES = 4 << 20
"""No reply is longer: what may grow is paged (protocol.md, Rules)."""

Handler = Callable[[Peer, P], Awaitable[R]]


@dataclass(frozen=True, slots=True)
class Binding(Generic[P, R]):
    """A method and what answers it."""

    method: Method[P, R]
    handle: Handler[P, R]


def bind(method: Method[P, R], handle: Handler[P, R]) -> Binding[P, R]:
    """The binding of a method; a handler of other params or another result is a type error."""
    return Binding(method, handle)


@dataclass(frozen=True, slots=True)
class Surface:
    """All that a connection knows of the daemon: its methods by name, what it says of itself, who comes and goes."""

    bindings: Mapping[str, Binding[Any, Any]]
    capabilities: Callable[[], AgentsServerCapabilities]
    joined: Callable[[Peer], None]
    left: Callable[[Peer], None]


PAGE_BYTES = REPLY_BYTES * 3 // 4
"""What the items of a page may have; the rest is for what stands around them."""


def fitting(items: Sequence[Wire]) -> int:
    """How many of the first items fit into one reply; always one, so that a reader gets on."""
    room = PAGE_BYTES
    for index, item in enumerate(items):
        room -= len(encode(item.wire()))
        if room < 0 and index:
            return index
    return len(items)


async def call(binding: Binding[P, R], peer: Peer, params: Json) -> bytes:
    """The encoded result. Raises InvalidParams, TooLarge, and what the handler raises."""
    arguments = _validated(binding.method, params)
    result = await binding.handle(peer, arguments)
    return measured(encode(result.wire()))


def failure(error: BaseException) -> bytes:
    """The encoded error object; for one that cannot be sent as it is, one that can."""
    try:
        return measured(encode(error_object(error)))
    except (TooLarge, TypeError, ValueError) as worse:
        return encode(error_object(worse))


def measured(reply: bytes) -> bytes:
    """`reply`, if it is short enough to be sent. Raises TooLarge."""
    if len(reply) > REPLY_BYTES:
        raise TooLarge(f"the reply has {len(reply)} bytes, {REPLY_BYTES} are allowed", limit=REPLY_BYTES)
    return reply


def _validated(method: Method[P, R], params: Json) -> P:
    """Params that are absent mean none, and a member that is null is an absent one."""
    if params is not None and not isinstance(params, dict):
        errors = [{"loc": [], "msg": "params are an object", "type": "dict_type"}]
        raise InvalidParams(f"invalid params for {method.name}: params are an object", errors=errors)
    try:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        return method.params.model_validate(given)
    except ValidationError as error:
        raise invalid_params(method.name, error) from error
