"""One connected client, as everything above the plumbing knows it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from abey.protocol.base import Json, Wire
from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.transcript import Client
from abey.rpc.editor import Editor
from abey.rpc.faults import Unanswered
from abey.rpc.messages import encode


async def _deaf(method: str, _: Json) -> Json:
    raise Unanswered(f"nobody is there to be asked {method}")


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
    ask: Callable[[str, Json], Awaitable[Json]] = field(repr=False, default=_deaf)
    """(method, params): the result that the client answers. Waits for as long as it takes;
    cancelling it withdraws the question. Raises Unanswered. Never awaited by a notice: answers come after it."""
    editor: Editor = field(repr=False, default_factory=Editor)

    @property
    def plain(self) -> bool:
        """The client knows LSP alone."""
        return self.capabilities is None

    def notify(self, method: str, params: Wire | dict[str, Any]) -> None:
        """Queues a notification. Never blocks; a client that is gone misses it."""
        self.send(notification(method, params))


def notification(method: str, params: Wire | dict[str, Any]) -> bytes:
    """The message, to be sent to any number of clients."""
    return encode({"jsonrpc": "2.0", "method": method, "params": params})
