"""One connection: bytes in, messages out of them, until the client leaves or breaks the framing."""

import asyncio
import itertools
import logging
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
READ_BYTES = 1 << 16
GRACE_SECONDS = 1.0
"""How long a client that sends nothing more still gets answers, and one that broke the framing is listened to."""

_numbers = itertools.count(1)


async def serve(
    surface: Surface,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    limits: Limits,
    admission: Admission = OPEN,
) -> int:
    """Serves one client until it leaves; the LSP exit code: 1 for `exit` without `shutdown`, broken framing, or who is
    not admitted.

    Cancelling it ends the connection: what is open is answered `daemon/gone`, since nobody can tell how far it got.
    Requests that end with the connection were only waiting: what they started belongs to the daemon.
    """
    connection = _Connection(surface, writer, limits, admission)
    end: AbeyError | RequestCancelled = RequestCancelled("the client left")
    try:
        return await connection.run(reader)
    except OSError as error:
        log.info("%s vanished: %s", connection.name, error)
        return 0
    except asyncio.CancelledError:
        end = DaemonGone("the daemon ended before this did; what of it was recorded stays")
        raise
    finally:
        await connection.close(end)


class _Connection:
    def __init__(self, surface: Surface, writer: asyncio.StreamWriter, limits: Limits, admission: Admission) -> None:
        self.name = f"c{next(_numbers)}"
        self._limits = limits
        self._admission = admission
        self._outbox = Outbox(self.name, writer)
        self._dialogue = Dialogue(surface, self._outbox, limits, admission)

    async def run(self, reader: asyncio.StreamReader) -> int:
        frames = Frames(self._limits.header_bytes, self._limits.frame_bytes)
        door = asyncio.timeout(self._admission.seconds)
        try:
            async with door:
                while chunk := await reader.read(READ_BYTES):
                    for event in frames.feed(chunk):
                        await self._event(event, reader)
                        if self._dialogue.exit_code is not None:
                            return self._dialogue.exit_code
                    if self._dialogue.begun:
                        door.reschedule(None)
                    # a reader with data at hand never yields, and one client must not starve another
                    await asyncio.sleep(0)
        except TimeoutError:
            if not door.expired():
                raise
            log.warning("%s closed: no initialize within %g s", self.name, self._admission.seconds)
            return 1
        if frames.partial:
            log.warning("%s closed: the stream ended within a message", self.name)
        await self._dialogue.settle(GRACE_SECONDS)
        return 0

    async def close(self, why: AbeyError | RequestCancelled) -> None:
        """Ends what still waits, says so, and hangs up."""
        self._dialogue.end(why)
        await self._dialogue.settle(GRACE_SECONDS)
        await self._outbox.close()

    async def _event(self, event: Event, reader: asyncio.StreamReader) -> None:
        match event:
            case Body(data):
                self._dialogue.take(data)
            case Malformed(reason):
                await self._give_up(InvalidRequest(reason), reader)
            case Oversized(length):
                limit = self._limits.frame_bytes
                await self._give_up(TooLarge(f"a message of {length} bytes, {limit} are allowed", limit=limit), reader)
            case Foreign(reason):
                log.warning("%s closed: %s", self.name, reason)
                self._dialogue.exit_code = 1
            case _:
                assert_never(event)

    async def _give_up(self, fault: InvalidRequest | TooLarge, reader: asyncio.StreamReader) -> None:
        """Says why and that nothing more comes; listens a little, so that a client in mid-sentence gets to hear it."""
        log.warning("%s closed: %s", self.name, fault.message)
        self._dialogue.exit_code = 1
        self._dialogue.refuse(fault)
        self._outbox.finish()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                while await reader.read(READ_BYTES):
                    pass
        except TimeoutError:
            log.info("%s went on sending", self.name)
