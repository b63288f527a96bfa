"""What goes out to one client: never blocks, never grows without bound."""

import asyncio
import logging

from abey.rpc.framing import frame

log = logging.getLogger(__name__)

BACKLOG_BYTES = 8 << 20


class Outbox:
    """Frames messages for a client; one that leaves BACKLOG_BYTES unread is cut off. As a context, in one write what is
    sent within."""

    def __init__(self, name: str, transport: asyncio.WriteTransport) -> None:
        self.name = name
        self._transport = transport
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._finished = False

    def send(self, body: bytes) -> None:
        """Queues one message. A client that is gone, was cut off, or was told that nothing more comes gets nothing, and
        nobody hears of it."""
        if self._finished or self._transport.is_closing():
            return
        backlog = self.unread()
        if backlog + len(body) > BACKLOG_BYTES:
            log.warning("%s is cut off: it left %d bytes unread", self.name, backlog)
            self._transport.abort()
        elif self._held is not None:
            self._held.append(frame(body))
            self._held_bytes += len(self._held[-1])
        else:
            self._transport.write(frame(body))

    def __enter__(self) -> None:
        self._held = []

    def __exit__(self, *_: object) -> None:
        held, self._held, self._held_bytes = self._held, None, 0
        if held:
            self._transport.write(b"".join(held))

    def unread(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._transport.get_write_buffer_size() + self._held_bytes

    def finish(self) -> None:
        """Says that nothing more comes, after what is queued."""
        self._finished = True
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
