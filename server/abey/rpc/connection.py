"""One connection: bytes in, messages out of them, until the client leaves or breaks the framing."""

import asyncio
import itertools
import logging
from dataclasses import dataclass
from typing import assert_never

from abey.errors import AbeyError, DaemonGone, TooLarge
from abey.protocol.handshake import Limits
from abey.rpc.admission import OPEN, Admission
from abey.rpc.dialogue import Dialogue
from abey.rpc.dispatch import Surface
from abey.rpc.faults import InvalidRequest, RequestCancelled
from abey.rpc.framing import Body, Event, Foreign, Frames, Malformed, Oversized
from abey.rpc.outbox import Outbox

log = logging.getLogger(__name__)

LIMITS = Limits(frame_bytes=16 << 20, header_bytes=8 << 10, json_depth=100, connections=64, requests_in_flight=256)
GRACE_SECONDS = 1.0
"""How long a client that sends nothing more still gets answers, and one that broke the framing is listened to."""
FLUSH_SECONDS = 1.0

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class _End:
    """The LSP exit code, and for how many seconds what is open may still be answered."""

    code: int
    grace: float = 0.0


class Connection(asyncio.Protocol):
    """Takes what a client says as it comes, one message in a turn of the loop: however many one client sends at once,
    another waits for one of them at a time. Nothing more is read of it meanwhile."""

    _transport: asyncio.Transport
    _outbox: Outbox
    _dialogue: Dialogue
    _door: asyncio.TimerHandle | None = None
    _behind = False
    _lingers = False
    _no_more = False

    def __init__(self, surface: Surface, *, limits: Limits, admission: Admission = OPEN) -> None:
        self._name = f"c{next(_numbers)}"
        self._surface = surface
        self._limits = limits
        self._admission = admission
        self._frames = Frames(limits.header_bytes, limits.frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[_End] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()

    async def served(self) -> int:
        """Returns when the client has left: the LSP exit code, 1 for `exit` without `shutdown`, broken framing, or who
        is not admitted.

        Cancelling it ends the connection: what is open is answered `daemon/gone`, since nobody can tell how far it got.
        Requests that end with the connection were only waiting: what they started belongs to the daemon.
        """
        why: AbeyError | RequestCancelled = RequestCancelled("the client left")
        try:
            end = await self._over
            if end.grace:
                await self._dialogue.settle(end.grace)
            return end.code
        except asyncio.CancelledError:
            why = DaemonGone("the daemon ended before this did; what of it was recorded stays")
            raise
        finally:
            await self._close(why)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._outbox = Outbox(self._name, transport)
        self._dialogue = Dialogue(self._surface, self._outbox, self._limits, self._admission)
        if self._admission.seconds is not None:
            self._door = self._loop.call_later(self._admission.seconds, self._shut_out, self._admission.seconds)

    def data_received(self, data: bytes) -> None:
        self._frames.add(data)
        if not self._behind:
            self._take()

    def eof_received(self) -> bool:
        self._hear_no_more()
        return True  # what is open is still answered

    def connection_lost(self, error: Exception | None) -> None:
        self._gone.set_result(None)
        if error is None:
            self._hear_no_more()
        else:
            log.log(logging.DEBUG if self._over.done() else logging.INFO, "%s vanished: %s", self._name, error)
            self._end(_End(0))

    def _take(self) -> None:
        """The next message, and those after it in the turns that follow."""
        self._behind = False
        if self._over.done():
            return
        try:
            taken = self._take_one()
        except Exception as error:  # noqa: BLE001  whoever serves the connection is told, and it ends
            self._over.set_exception(error)
            return
        code = None if self._lingers else self._dialogue.exit_code
        if self._dialogue.behind or (taken and code is None and self._frames.left):
            self._behind = True
            self._transport.pause_reading()
            self._loop.call_soon(self._take)
        elif code is not None:
            self._end(_End(code))
        elif self._no_more:
            self._leave()
        else:
            self._transport.resume_reading()

    def _take_one(self) -> bool:
        """Whether there was one."""
        if self._dialogue.behind:
            self._dialogue.go_on()
        elif event := self._frames.next():
            self._event(event)
        else:
            return False
        if self._door is not None and self._dialogue.begun:
            self._door.cancel()
            self._door = None
        return True

    def _event(self, event: Event) -> None:
        match event:
            case Body(data):
                self._dialogue.take(data)
            case Malformed(reason):
                self._give_up(InvalidRequest(reason))
            case Oversized(length):
                limit = self._limits.frame_bytes
                self._give_up(TooLarge(f"a message of {length} bytes, {limit} are allowed", limit=limit))
            case Foreign(reason):
                log.warning("%s closed: %s", self._name, reason)
                self._dialogue.exit_code = 1
            case _:
                assert_never(event)

    def _give_up(self, fault: InvalidRequest | TooLarge) -> None:
        """Says why and that nothing more comes; listens a little, so that a client in mid-sentence gets to hear it."""
        log.warning("%s closed: %s", self._name, fault.message)
        self._lingers = True
        self._dialogue.refuse(fault)
        self._outbox.finish()
        self._loop.call_later(GRACE_SECONDS, self._linger_no_more)

    def _linger_no_more(self) -> None:
        if not self._over.done():
            log.info("%s went on sending", self._name)
            self._end(_End(1))

    def _shut_out(self, seconds: float) -> None:
        log.warning("%s closed: no initialize within %g s", self._name, seconds)
        self._end(_End(1))

    def _hear_no_more(self) -> None:
        """Nothing more comes after what was read."""
        self._no_more = True
        if not self._behind:
            self._leave()

    def _leave(self) -> None:
        if self._frames.partial:
            log.warning("%s closed: the stream ended within a message", self._name)
        self._end(_End(1) if self._lingers else _End(0, GRACE_SECONDS))

    def _end(self, end: _End) -> None:
        if not self._over.done():
            self._over.set_result(end)

    async def _close(self, why: AbeyError | RequestCancelled) -> None:
        """Ends what still waits, says so, and hangs up once everything is out, or after FLUSH_SECONDS."""
        if self._door is not None:
            self._door.cancel()
        self._dialogue.end(why)
        await self._dialogue.settle(GRACE_SECONDS)
        self._transport.close()
        if not (await asyncio.wait({self._gone}, timeout=FLUSH_SECONDS))[0]:
            log.warning("%s is cut off: it did not read its last messages", self._name)
            self._transport.abort()
