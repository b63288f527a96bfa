"""The way in for those who cannot reach the socket: loopback alone, and only with the token of a file.

Whatever runs on the machine reaches a port of loopback, other users and the pages of a browser too. So nothing is read
but our framing, and nothing answered before the token (security.md, Transport).
"""

import asyncio
import logging
import socket
from pathlib import Path

from abey.daemon.binding import write_private
from abey.daemon.loopback import shown
from abey.daemon.reception import Doorway, Reception
from abey.rpc.admission import Admission

log = logging.getLogger(__name__)

TOKEN_SECONDS = 3.0
"""Who has not shown the token by then is hung up on."""


class TcpListener:
    """Brings whoever connects to `bound` to the reception, where `token` is asked for; `place` says meanwhile where."""

    def __init__(
        self, reception: Reception, bound: socket.socket, token: str, place: Path, seconds: float = TOKEN_SECONDS
    ) -> None:
        self._reception = reception
        self._bound = bound
        self._admission = Admission(token.encode(), seconds)
        self._place = place
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        write_private(self._place, shown(self._bound).encode())
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Doorway(self._accept), sock=self._bound)
        log.info("listening on %s", shown(self._bound))

    def close(self) -> None:
        """Accepts nobody any more."""
        if self._server:
            self._server.close()
        self._place.unlink(missing_ok=True)

    def _accept(self, transport: asyncio.Transport) -> None:
        self._reception.receive(transport, self._admission)
