"""What goes out to one client: never blocks, never grows without bound."""

import asyncio
import logging

from abey.rpc.framing import frame

log = logging.getLogger(__name__)

BACKLOG_BYTES = 8 << 20
FLUSH_SECONDS = 1.0


class Outbox:
    """Frames messages into the stream of a client; one that leaves BACKLOG_BYTES unread is cut off."""

    def __init__(self, name: str, stream: asyncio.StreamWriter) -> None:
        self.name = name
        self._stream = stream

    def send(self, body: bytes) -> None:
        """Queues one message. A client that is gone, or was cut off, gets nothing and nobody hears of it."""
        transport = self._stream.transport
        if transport.is_closing():
            return
        backlog = transport.get_write_buffer_size()
        if backlog + len(body) > BACKLOG_BYTES:
            log.warning("%s is cut off: it left %d bytes unread", self.name, backlog)
            transport.abort()
            return
        self._stream.write(frame(body))

    def unread(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._stream.transport.get_write_buffer_size()

    def finish(self) -> None:
        """Says that nothing more comes, after what is queued."""
        if self._stream.can_write_eof() and not self._stream.transport.is_closing():
            self._stream.write_eof()

    async def close(self) -> None:
        """Closes the stream once everything is out, or after FLUSH_SECONDS."""
        self._stream.close()
        try:
            await asyncio.wait_for(self._stream.wait_closed(), FLUSH_SECONDS)
        except TimeoutError:
            log.warning("%s is cut off: it did not read its last messages", self.name)
            self._stream.transport.abort()
        except ConnectionError as error:
            log.debug("%s was gone before its last message: %s", self.name, error)
