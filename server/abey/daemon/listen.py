"""Accepting clients on the unix socket: only this user's, at a path that stays bound."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

from abey.daemon.binding import bind, identity, write_address
from abey.daemon.reception import Doorway, Reception
from abey.shared.owner import NotOurs, peer_uid
from abey.shared.places import read_address

log = logging.getLogger(__name__)

REBIND_SECONDS = 2.0
"""How often is looked whether the socket is still there."""

UidOf = Callable[[socket.socket], int]
"""Whose the other end of a connection is."""


class Listener:
    """Brings whoever connects at `path`, where `bound` listens, to the reception; `state` gets the address."""

    def __init__(
        self, reception: Reception, bound: socket.socket, path: Path, state: Path, uid_of: UidOf = peer_uid
    ) -> None:
        self._reception = reception
        self._bound = bound
        self._path = path
        self._state = state
        self._uid_of = uid_of
        self._identity = identity(path)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: Doorway(self._accept), sock=self._bound)

    async def keep_bound(self, every: float = REBIND_SECONDS) -> None:
        """Binds the socket again, and writes the address again, whenever somebody removed them; never returns."""
        while True:
            await asyncio.sleep(every)
            try:
                await self._restore()
            except (OSError, NotOurs) as error:
                log.error("%s cannot be bound again: %s", self._path, error)

    def close(self) -> None:
        """Accepts nobody any more, and removes the socket, if it still is ours."""
        if self._server:
            self._server.close()
        if self._identity and identity(self._path) == self._identity:
            self._path.unlink()

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

    def _accept(self, transport: asyncio.Transport) -> None:
        owner = self._uid_of(transport.get_extra_info("socket"))
        if owner == os.getuid():
            self._reception.receive(transport)
        else:
            log.warning("a connection of user %d is refused", owner)
            transport.abort()
