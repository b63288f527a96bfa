"""One connection: messages in, every request answered, until the client leaves.

Every request gets exactly one reply: from the life cycle at once, or from its task's end, whatever ends it.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, assert_never

from abey.errors import AbeyError, DaemonDraining, TooLarge
from abey.protocol.base import Json
from abey.protocol.handshake import Limits
from abey.protocol.transcript import Client
from abey.rpc import batch
from abey.rpc.calls import Calls
from abey.rpc.dispatch import Surface, call, failure
from abey.rpc.faults import (
    InvalidRequest,
    MethodNotFound,
    NotInitialized,
    ParseError,
    RequestCancelled,
)
from abey.rpc.framing import Body, Event, Foreign, Frames, Malformed, Oversized
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

log = logging.getLogger(__name__)

LIMITS = Limits(frame_bytes=16 << 20, header_bytes=8 << 10, json_depth=100, connections=64, requests_in_flight=256)
READ_BYTES = 1 << 16
GRACE_SECONDS = 1.0
"""How long a client that sends nothing more still gets answers, and one that broke the framing is listened to."""
METHOD_SHOWN = 100

Reply = Callable[[Id | None, bytes], None]

_numbers = itertools.count(1)


async def serve(surface: Surface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, limits: Limits) -> int:
    """Serves one client until it leaves; the LSP exit code: 1 for `exit` without `shutdown` or broken framing.

    Cancelling it ends the connection: what is open is answered `daemon/draining`. Requests that end with the
    connection were only waiting: what they started belongs to the daemon.
    """
    connection = _Connection(surface, writer, limits)
    end: AbeyError | RequestCancelled = RequestCancelled("the client left")
    try:
        return await connection.run(reader)
    except ConnectionError as error:
        log.info("%s vanished: %s", connection.name, error)
        return 0
    except asyncio.CancelledError:
        end = DaemonDraining("the daemon is stopping")
        raise
    finally:
        await connection.close(end)


class _Connection:
    def __init__(self, surface: Surface, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self.name = f"c{next(_numbers)}"
        self._surface = surface
        self._limits = limits
        self._outbox = Outbox(self.name, writer)
        self._calls = Calls(limits.requests_in_flight)
        self._phase: Literal["new", "ready", "shutdown"] = "new"
        self._peer: Peer | None = None
        self._exit_code: int | None = None

    async def run(self, reader: asyncio.StreamReader) -> int:
        frames = Frames(self._limits.header_bytes, self._limits.frame_bytes)
        while chunk := await reader.read(READ_BYTES):
            for event in frames.feed(chunk):
                await self._event(event, reader)
                if self._exit_code is not None:
                    return self._exit_code
            await asyncio.sleep(0)  # a reader with data at hand never yields, and one client must not starve another
        if frames.partial:
            log.warning("%s closed: the stream ended within a message", self.name)
        await self._calls.settle(GRACE_SECONDS)
        return 0

    async def close(self, why: AbeyError | RequestCancelled) -> None:
        """Ends what still waits, says so, and hangs up."""
        if self._peer:
            self._surface.left(self._peer)
        self._calls.end(why)
        await self._calls.settle(GRACE_SECONDS)
        await self._outbox.close()

    async def _event(self, event: Event, reader: asyncio.StreamReader) -> None:
        match event:
            case Body(data):
                self._body(data)
            case Malformed(reason):
                await self._give_up(InvalidRequest(reason), reader)
            case Oversized(length):
                limit = self._limits.frame_bytes
                await self._give_up(TooLarge(f"a message of {length} bytes, {limit} are allowed", limit=limit), reader)
            case Foreign(reason):
                log.warning("%s closed: %s", self.name, reason)
                self._exit_code = 1
            case _:
                assert_never(event)

    async def _give_up(self, fault: InvalidRequest | TooLarge, reader: asyncio.StreamReader) -> None:
        """Says why and that nothing more comes; listens a little, so that a client in mid-sentence gets to hear it."""
        log.warning("%s closed: %s", self.name, fault.message)
        self._exit_code = 1
        self._fail(self._reply, None, fault)
        self._outbox.finish()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                while await reader.read(READ_BYTES):
                    pass
        except TimeoutError:
            log.info("%s went on sending", self.name)

    def _body(self, data: bytes) -> None:
        try:
            value = decode(data, self._limits.json_depth)
        except ParseError as error:
            self._fail(self._reply, None, error)
            return
        if isinstance(value, list):
            self._batch(value)
        else:
            self._message(parse(value), self._reply)

    def _batch(self, values: list[Json]) -> None:
        if not 0 < len(values) <= batch.MESSAGES:
            self._fail(self._reply, None, InvalidRequest(f"a batch holds 1 to {batch.MESSAGES} messages"))
            return
        messages = [parse(value) for value in values]
        expected = sum(isinstance(message, (Request, Invalid)) for message in messages)
        reply = batch.Batch(expected, self._outbox.send).reply
        for message in messages:
            self._message(message, reply)

    def _message(self, message: Message, reply: Reply) -> None:
        match message:
            case Request():
                self._request(message, reply)
            case Notification():
                self._notification(message)
            case Response(id):
                log.debug("%s answered %r, which nobody asked", self.name, id)
            case Invalid(id, reason):
                self._fail(reply, id, InvalidRequest(reason))
            case _:
                assert_never(message)

    def _notification(self, message: Notification) -> None:
        match message.method:
            case "exit":
                self._exit_code = 0 if self._phase == "shutdown" else 1
            case "$/cancelRequest":
                self._cancel(message.params)
            case method if method in self._surface.bindings:
                log.warning("%s sent %s without an id: it is not run", self.name, method)
            case method:
                log.debug("%s sent %s, which means nothing here", self.name, ascii(method[:METHOD_SHOWN]))

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
                    result = self._shutdown()
                case _:
                    self._start(request, reply)
                    return
        except Exception as error:  # noqa: BLE001  every request is answered, whatever fails
            self._fail(reply, request.id, error)
            return
        reply(request.id, result_reply(request.id, result))
        if request.method == "initialize" and self._peer:
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
        said = greeting(params)
        result = encode(initialize_result(params, self._surface.capabilities()))
        client = Client(id=said.client_id or self.name, name=said.name, kind=said.kind)
        self._peer = Peer(self.name, client, said.capabilities, said.options, self._outbox.send, self._outbox.unread)
        self._phase = "ready"
        return result

    def _shutdown(self) -> bytes:
        self._phase = "shutdown"
        return b"null"

    def _start(self, request: Request, reply: Reply) -> None:
        binding = self._surface.bindings.get(request.method)
        if binding is None or self._peer is None:
            raise MethodNotFound(f"there is no method {request.method[:METHOD_SHOWN]!a}")
        self._calls.admit()
        work = call(binding, self._peer, request.params)
        self._calls.start(request.id, work, partial(self._ended, request.id, reply))

    def _ended(self, id: Id, reply: Reply, outcome: bytes | BaseException) -> None:
        if isinstance(outcome, BaseException):
            self._fail(reply, id, outcome)
        else:
            reply(id, result_reply(id, outcome))

    def _fail(self, reply: Reply, id: Id | None, error: BaseException) -> None:
        reply(id, error_reply(id, failure(error)))

    def _reply(self, _: Id | None, body: bytes) -> None:
        self._outbox.send(body)
