"""What goes out to one client: never blocks, never grows without bound."""

import asyncio
import logging

from abey.rpc.framing import frame

log = logging.getLogger(__name__)

BACKLOG_BYTES = 8 << 20


class Outbox:
    """Frames messages for a client; one that leaves BACKLOG_BYTES unread is cut off."""

    def __init__(self, name: str, transport: asyncio.WriteTransport) -> None:
        self.name = name
        self._transport = transport

    def send(self, body: bytes) -> None:
        """Queues one message. A client that is gone, or was cut off, gets nothing and nobody hears of it."""
        if self._transport.is_closing():
            return
        backlog = self._transport.get_write_buffer_size()
        if backlog + len(body) > BACKLOG_BYTES:
            log.warning("%s is cut off: it left %d bytes unread", self.name, backlog)
            self._transport.abort()
            return
        self._transport.write(frame(body))

    def unread(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._transport.get_write_buffer_size()

    def finish(self) -> None:
        """Says that nothing more comes, after what is queued."""
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
