"""Accepting clients on the unix socket: only this user's, so many at a time, at a path that stays bound."""

import asyncio
import logging
import os
import socket
from pathlib import Path

from abey.daemon.binding import bind, identity, write_address
from abey.errors import Overloaded
from abey.protocol.handshake import Limits
from abey.rpc.connection import serve
from abey.rpc.dispatch import Surface, failure
from abey.rpc.framing import frame
from abey.rpc.messages import error_reply
from abey.shared.owner import NotOurs, peer_uid
from abey.shared.places import read_address

log = logging.getLogger(__name__)

REBIND_SECONDS = 2.0
"""How often is looked whether the socket is still there."""
RETRY_AFTER_MS = 1000


class Listener:
    """Serves `surface` to whoever connects at `path`, where `bound` listens; `state` gets the address."""

    def __init__(self, surface: Surface, limits: Limits, bound: socket.socket, path: Path, state: Path) -> None:
        self._surface = surface
        self._limits = limits
        self._bound = bound
        self._path = path
        self._state = state
        self._identity = identity(path)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def clients(self) -> int:
        return len(self._connections)

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, sock=self._bound)

    async def keep_bound(self, every: float = REBIND_SECONDS) -> None:
        """Binds the socket again, and writes the address again, whenever somebody removed them; never returns."""
        while True:
            await asyncio.sleep(every)
            try:
                await self._restore()
            except (OSError, NotOurs) as error:
                log.error("%s cannot be bound again: %s", self._path, error)

    async def close(self) -> None:
        """Ends every connection and removes the socket, if it still is ours."""
        if self._server:
            self._server.close()
        if self._identity and identity(self._path) == self._identity:
            self._path.unlink()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _restore(self) -> None:
        if identity(self._path) != self._identity:
            log.warning("%s is gone: it is bound again", self._path)
            self._bound = bind(self._path)
            self._identity = identity(self._path)
            if self._server:
                self._server.close()
            await self.start()
        if read_address(self._state) != self._path:
            write_address(self._state, self._path)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        owner = peer_uid(writer.get_extra_info("socket"))
        if owner != os.getuid():
            log.warning("a connection of user %d is refused", owner)
            writer.transport.abort()
        elif self.clients >= self._limits.connections:
            log.warning("a connection is refused: there are %d", self.clients)
            busy = Overloaded(f"the daemon has {self.clients} connections", retryAfterMs=RETRY_AFTER_MS)
            writer.write(frame(error_reply(None, failure(busy))))
            writer.close()
        else:
            connection = asyncio.create_task(self._serve(reader, writer))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(self._surface, reader, writer, limits=self._limits)
        except Exception:
            log.exception("a connection ended by an error")
