"""Methods bound to their handlers; params are judged and results are measured here and nowhere else."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from pydantic import ValidationError

from abey.core.abridging import abridged
from abey.errors import TooLarge
from abey.protocol.base import Json, Wire
from abey.protocol.handshake import AgentsServerCapabilities
from abey.protocol.methods import Method, P, R
from abey.rpc.faults import InvalidParams, error_object, invalid_params
from abey.rpc.messages import encode
from abey.rpc.peer import Peer
from abey.shared.frames import let_go

REPLY_BYTES = 4 << 20
"""No reply is longer: what may grow is paged (protocol.md, Rules)."""

Handler = Callable[[Peer, P], Awaitable[R]]
Prompt = Callable[[Peer, P], R]
"""Answers a request for which nothing is to be waited for."""


@dataclass(frozen=True, slots=True)
class Binding(Generic[P, R]):
    """A method and what answers it; where that is prompt, it may be asked before the next message is looked at."""

    method: Method[P, R]
    handle: Handler[P, R]
    prompt: Prompt[P, R] | None = None


class Later(Protocol):
    """Awaited once, for the result of a request of LSP; a coroutine is one. `close` also where it never was."""

    def __await__(self) -> Generator[Any, Any, Json]: ...

    def close(self) -> None: ...


Feature = Callable[[Peer, Json], Later]
"""Answers a request of LSP, which it judges itself (speaking.py). It is called when the request arrives, before the
next message is looked at, and what it returns is awaited later. Raises InvalidParams."""
Notice = Callable[[Peer, Json], None]
"""Takes a notification of LSP, before the next message is looked at. Raises InvalidParams."""


def bind(method: Method[P, R], handle: Handler[P, R]) -> Binding[P, R]:
    """The binding of a method; a handler of other params or another result is a type error."""
    return Binding(method, handle)


def bind_prompt(method: Method[P, R], prompt: Prompt[P, R]) -> Binding[P, R]:
    """The same for one that waits for nothing."""

    async def handle(peer: Peer, params: P) -> R:
        return prompt(peer, params)

    return Binding(method, handle, prompt)


NO_DOCUMENTS = 0
"""LSP's TextDocumentSyncKind.None."""


def _nothing_offered(_: Peer) -> Mapping[str, Json]:
    return {"textDocumentSync": NO_DOCUMENTS}


@dataclass(frozen=True, slots=True)
class Surface:
    """All that a connection knows of the daemon: its methods and those of LSP by name, what it says of itself, who
    comes and goes."""

    bindings: Mapping[str, Binding[Any, Any]]
    capabilities: Callable[[], AgentsServerCapabilities]
    joined: Callable[[Peer], None]
    left: Callable[[Peer], None]
    features: Mapping[str, Feature] = field(default_factory=dict)
    notices: Mapping[str, Notice] = field(default_factory=dict)
    offered: Callable[[Peer], Mapping[str, Json]] = _nothing_offered
    """What the client is told of `features` and `notices`: LSP's ServerCapabilities, as JSON."""
    settle: Callable[[Peer], None] = lambda _: None
    """Tells the client what it is to hear before the answer that comes next."""


PAGE_BYTES = REPLY_BYTES * 3 // 4
"""What the items of a page may have; the rest is for what stands around them."""


def fitting(items: Sequence[Wire], room: int = PAGE_BYTES) -> int:
    """How many of the first items fit into one reply; always one, so that a reader gets on."""
    for index, item in enumerate(items):
        room -= len(encode(item))
        if room < 0 and index:
            return index
    return len(items)


async def call(binding: Binding[P, R], peer: Peer, params: Json) -> bytes:
    """The encoded result. Raises InvalidParams, TooLarge, and what the handler raises."""
    arguments = validated(binding.method, params)
    return measured(_shown(await binding.handle(peer, arguments)))


def answer_promptly(method: Method[P, R], prompt: Prompt[P, R], peer: Peer, params: Json) -> bytes:
    """As `call`, at once."""
    return measured(_shown(prompt(peer, validated(method, params))))


class Answer:
    """As `call`, for a method of LSP. The feature is called at once: here is what it returned, to be awaited."""

    def __init__(self, feature: Feature, peer: Peer, params: Json) -> None:
        self._result = feature(peer, params)

    def __await__(self) -> Generator[Any, Any, bytes]:
        return self._encoded().__await__()

    def close(self) -> None:
        self._result.close()

    async def _encoded(self) -> bytes:
        return measured(encode(await self._result))


def failure(error: BaseException) -> bytes:
    """The encoded error object; for one that cannot be sent as it is, one that can. The error is not raised again."""
    try:
        return measured(_shown(error_object(error)))
    except (TooLarge, TypeError, ValueError) as worse:
        return encode(error_object(worse))
    finally:
        let_go(error)


def _shown(value: Json | Wire) -> bytes:
    """Encoded, and abridged where it would be too long: what was done is done, and its answer says so."""
    reply = encode(value)
    if len(reply) <= REPLY_BYTES:
        return reply
    return encode(abridged(value.wire() if isinstance(value, Wire) else value))


def measured(reply: bytes) -> bytes:
    """`reply`, if it is short enough to be sent. Raises TooLarge."""
    if len(reply) > REPLY_BYTES:
        raise TooLarge(f"the reply has {len(reply)} bytes, {REPLY_BYTES} are allowed", limit=REPLY_BYTES)
    return reply


def validated(method: Method[P, R], params: Json) -> P:
    """The params of a method of ours; those that are absent mean none, and a member that is null is an absent one.
    Raises InvalidParams."""
    if params is not None and not isinstance(params, dict):
        errors = [{"loc": [], "msg": "params are an object", "type": "dict_type"}]
        raise InvalidParams(f"invalid params for {method.name}: params are an object", errors=errors)
    try:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        return method.params.model_validate(given)
    except ValidationError as error:
        raise invalid_params(method.name, error) from error
