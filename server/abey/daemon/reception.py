"""Everybody who is connected, by whatever way: so many at a time, and none who keeps others out by saying nothing."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from abey.errors import Overloaded
from abey.protocol.handshake import Limits
from abey.rpc.admission import OPEN, Admission
from abey.rpc.connection import Connection
from abey.rpc.dispatch import Surface, failure
from abey.rpc.framing import frame
from abey.rpc.messages import error_reply
from abey.rpc.peer import Peer

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 1000
SILENT_SECONDS = 10.0
"""Who has not said `initialize` for so long gives its place to the next one, when there is no other."""


@dataclass(slots=True, eq=False)
class Guest:
    """A connection; `greeted` once it has said who it is."""

    since: float
    connection: asyncio.Task[None] | None = None
    greeted: bool = False


class Reception:
    """Serves `surface` to every connection that it is given, and knows how many there are."""

    def __init__(self, surface: Surface, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._surface = surface
        self._limits = limits
        self._clock = clock
        self._guests: list[Guest] = []

    @property
    def clients(self) -> int:
        return len(self._guests)

    def receive(self, transport: asyncio.Transport, admission: Admission = OPEN) -> None:
        """Serves one client from now on, or tells it that there is no room."""
        if self.clients >= self._limits.connections and not self._make_room():
            log.warning("a connection is refused: there are %d", self.clients)
            busy = Overloaded(f"the daemon has {self.clients} connections", retryAfterMs=RETRY_AFTER_MS)
            transport.write(frame(error_reply(None, failure(busy))))
            transport.close()
            return
        guest = Guest(self._clock())
        self._guests.append(guest)
        connection = Connection(self._for(guest), limits=self._limits, admission=admission)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        guest.connection = asyncio.create_task(_serve(connection))
        guest.connection.add_done_callback(lambda _: self._forget(guest))

    async def close(self) -> None:
        """Ends every connection."""
        connections = [guest.connection for guest in self._guests if guest.connection]
        for connection in connections:
            connection.cancel()
        if connections:
            await asyncio.wait(connections)

    def _make_room(self) -> bool:
        """Whether somebody who has said nothing for long had to go."""
        now = self._clock()
        silent = (one for one in self._guests if not one.greeted and now - one.since >= SILENT_SECONDS)
        guest = next(silent, None)
        if guest is None or guest.connection is None:
            return False
        log.warning("a connection that said nothing for %d s makes room for another", now - guest.since)
        guest.connection.cancel()
        self._forget(guest)
        return True

    def _forget(self, guest: Guest) -> None:
        if guest in self._guests:
            self._guests.remove(guest)

    def _for(self, guest: Guest) -> Surface:
        def joined(peer: Peer) -> None:
            guest.greeted = True
            self._surface.joined(peer)

        return replace(self._surface, joined=joined)


class Doorway(asyncio.Protocol):
    """A connection of which nothing is known yet: `accept` says what becomes of it."""

    def __init__(self, accept: Callable[[asyncio.Transport], None]) -> None:
        self._accept = accept

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._accept(transport)


async def _serve(connection: Connection) -> None:
    try:
        await connection.served()
    except Exception:
        log.exception("a connection ended by an error")
