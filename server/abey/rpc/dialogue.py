"""What one client says, and what it is answered: its life cycle, its requests, its answers to ours.

Every request gets exactly one reply: at once, or from its task's end, whatever ends it.
"""

import itertools
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Literal, assert_never

from abey.errors import AbeyError, PermissionDenied
from abey.protocol.base import Json
from abey.protocol.handshake import Limits
from abey.protocol.transcript import Client
from abey.rpc import batch
from abey.rpc.admission import Admission
from abey.rpc.calls import Calls, Work
from abey.rpc.dispatch import Answer, Surface, answer_promptly, call, failure
from abey.rpc.faults import InvalidRequest, MethodNotFound, NotInitialized, ParseError, RequestCancelled
from abey.rpc.handshake import greeting, initialize_result
from abey.rpc.messages import (
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Response,
    decode,
    encode,
    error_reply,
    parse,
    readable_id,
    result_reply,
)
from abey.rpc.outbox import Outbox
from abey.rpc.peer import Peer
from abey.rpc.questions import Questions

log = logging.getLogger(__name__)

METHOD_SHOWN = 100

Reply = Callable[[Id | None, bytes], None]

_numbers = itertools.count(1)


class Dialogue:
    """With one client. `exit_code` is None for as long as it goes on: 0 for `exit` after `shutdown`, else 1."""

    def __init__(self, surface: Surface, outbox: Outbox, limits: Limits, admission: Admission) -> None:
        self.exit_code: int | None = None
        self._name = outbox.name
        self._surface = surface
        self._outbox = outbox
        self._limits = limits
        self._admission = admission
        self._calls = Calls(limits.requests_in_flight)
        self._questions = Questions(outbox.name, outbox.send)
        self._batched: deque[tuple[Message, Reply]] = deque()
        self._phase: Literal["new", "ready", "shutdown"] = "new"
        self._peer: Peer | None = None

    @property
    def begun(self) -> bool:
        """`initialize` was answered well."""
        return self._peer is not None

    @property
    def behind(self) -> bool:
        """Messages of a batch are left; `go_on` takes one of them."""
        return bool(self._batched)

    def go_on(self) -> None:
        self._message(*self._batched.popleft())

    def take(self, body: bytes) -> None:
        """One message, or the first of a batch."""
        try:
            value = decode(body, self._limits.json_depth)
        except ParseError as error:
            self.refuse(error, error.id)
            return
        if isinstance(value, list):
            self._batch(value)
        else:
            self._message(parse(value), self._reply)

    def refuse(self, fault: ParseError | InvalidRequest | AbeyError, id: Id | None = None) -> None:
        """Says what is wrong with something that has no id, or none that can be read, to a client that may be told."""
        if self._may_be_told():
            self._fail(self._reply, id, fault)

    async def settle(self, seconds: float) -> None:
        """Waits until every request is answered, at most `seconds`."""
        await self._calls.settle(seconds)

    def end(self, why: AbeyError | RequestCancelled) -> None:
        """The client is gone, or nothing more is taken from it: what waits is answered with `why`."""
        if self._peer:
            self._surface.left(self._peer)
        self._calls.end(why)
        self._questions.end()

    def _may_be_told(self) -> bool:
        """Who has not shown the token hears nothing, and is hung up on."""
        if self._admission.token is None or self.begun:
            return True
        log.warning("%s closed: it did not begin with initialize and the token", self._name)
        self.exit_code = 1
        return False

    def _batch(self, values: list[Json]) -> None:
        if not self._may_be_told():
            return
        if not 0 < len(values) <= batch.MESSAGES:
            self.refuse(InvalidRequest(f"a batch holds 1 to {batch.MESSAGES} messages"))
            return
        messages = [parse(value) for value in values]
        expected = sum(isinstance(message, (Request, Invalid)) for message in messages)
        reply = batch.Batch(expected, self._outbox.send).reply
        self._batched.extend((message, reply) for message in messages)
        self.go_on()

    def _message(self, message: Message, reply: Reply) -> None:
        match message:
            case Request(method="initialize"):
                self._request(message, reply)
            case _ if not self._may_be_told():
                return
            case Request():
                self._request(message, reply)
            case Notification():
                self._notification(message)
            case Response():
                self._questions.answered(message)
            case Invalid(id, reason):
                self._fail(reply, id, InvalidRequest(reason))
            case _:
                assert_never(message)

    def _notification(self, message: Notification) -> None:
        match message.method:
            case "exit":
                self.exit_code = 0 if self._phase == "shutdown" else 1
            case "$/cancelRequest":
                self._cancel(message.params)
            case method if method in self._surface.notices:
                self._notice(message)
            case method if method in self._surface.bindings or method in self._surface.features:
                log.warning("%s sent %s without an id: it is not run", self._name, method)
            case method:
                log.debug("%s sent %s, which means nothing here", self._name, ascii(method[:METHOD_SHOWN]))

    def _notice(self, message: Notification) -> None:
        """Nobody is told of a failure but the log: a notification has no answer."""
        if self._peer is None or self._phase != "ready":
            log.info("%s sent %s out of its time", self._name, message.method)
            return
        try:
            self._surface.notices[message.method](self._peer, message.params)
        except Exception as error:  # noqa: BLE001  one notification that fails is no reason to end the connection
            log.warning("%s sent %s, which failed: %s", self._name, message.method, failure(error).decode())

    def _cancel(self, params: Json) -> None:
        request_id = readable_id(params.get("id")) if isinstance(params, dict) else None
        if request_id is not None and not isinstance(request_id, float):
            self._calls.cancel(request_id)

    def _request(self, request: Request, reply: Reply) -> None:
        try:
            self._admit(request)
            match request.method:
                case "initialize":
                    result = self._initialize(request.params)
                case "shutdown":
                    self._phase = "shutdown"
                    self._ended(request.id, reply, b"null")
                    return
                case _:
                    self._start(request, reply)
                    return
        except Exception as error:  # noqa: BLE001  every request is answered, whatever fails
            self._ended(request.id, reply, error)
            return
        reply(request.id, result_reply(request.id, result))
        if self._peer:
            self._surface.joined(self._peer)

    def _admit(self, request: Request) -> None:
        if request.id in self._calls:
            raise InvalidRequest("a request with this id is in flight")
        match self._phase:
            case "new" if request.method != "initialize":
                raise NotInitialized("the first request is initialize")
            case "ready" if request.method == "initialize":
                raise InvalidRequest("initialize was answered before")
            case "shutdown":
                raise InvalidRequest("nothing but exit comes after shutdown")

    def _initialize(self, params: Json) -> bytes:
        if not self._admission.admits(params):
            log.warning("%s closed: its token is wrong or missing", self._name)
            self.exit_code = 1
            raise PermissionDenied("initializationOptions.token is not the token of this daemon")
        said = greeting(params)
        client = Client(id=said.client_id or self._name, name=said.name, kind=said.kind)
        outbox, ask = self._outbox, self._questions.ask
        peer = Peer(self._name, client, said.capabilities, said.options, outbox.send, outbox.unread, ask, said.editor)
        result = encode(initialize_result(peer, self._surface.offered(peer), self._surface.capabilities()))
        self._peer = peer
        self._phase = "ready"
        return result

    def _start(self, request: Request, reply: Reply) -> None:
        self._calls.admit()
        work = self._work(request)
        if isinstance(work, bytes):
            self._ended(request.id, reply, work)
        else:
            self._calls.start(request.id, work, partial(self._ended, request.id, reply))

    def _work(self, request: Request) -> Work | bytes:
        """What is to be awaited, or the result where it is there at once."""
        if self._peer and (binding := self._surface.bindings.get(request.method)):
            if binding.prompt is not None:
                return answer_promptly(binding.method, binding.prompt, self._peer, request.params)
            return call(binding, self._peer, request.params)
        if self._peer and (feature := self._surface.features.get(request.method)):
            return Answer(feature, self._peer, request.params)
        raise MethodNotFound(f"there is no method {request.method[:METHOD_SHOWN]!a}")

    def _ended(self, id: Id, reply: Reply, outcome: bytes | BaseException) -> None:
        with self._outbox:
            if self._peer:
                self._surface.settle(self._peer)
            if isinstance(outcome, BaseException):
                self._fail(reply, id, outcome)
            else:
                reply(id, result_reply(id, outcome))

    def _fail(self, reply: Reply, id: Id | None, error: BaseException) -> None:
        reply(id, error_reply(id, failure(error)))

    def _reply(self, _: Id | None, body: bytes) -> None:
        self._outbox.send(body)
