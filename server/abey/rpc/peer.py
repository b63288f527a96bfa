"""One connected client, as everything above the plumbing knows it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.transcript import Client
from abey.rpc.messages import encode


@dataclass(frozen=True, slots=True, eq=False)
class Peer:
    """A client from its `initialize` to its end; `capabilities` is None for a plain LSP client.

    `options` holds the client's environment: it is for look-ups, and shown nowhere.
    """

    id: str
    client: Client
    capabilities: AgentsClientCapabilities | None
    options: InitializationOptions = field(repr=False)
    send: Callable[[bytes], None] = field(repr=False)
    unread: Callable[[], int] = field(repr=False, default=lambda: 0)
    """How many bytes the client has not taken yet."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Queues a notification. Never blocks; a client that is gone misses it."""
        self.send(encode({"jsonrpc": "2.0", "method": method, "params": params}))
