"""A JSON-RPC batch: the answers to its requests, in one array, once all of them are there."""

from collections.abc import Callable

from abey.errors import TooLarge
from abey.rpc.dispatch import REPLY_BYTES, failure
from abey.rpc.messages import Id, error_reply

MESSAGES = 256
"""The longest batch."""


class Batch:
    """Collects `expected` replies; one that would make the array longer than a reply may be becomes an error."""

    def __init__(self, expected: int, send: Callable[[bytes], None]) -> None:
        self._expected = expected
        self._send = send
        self._bytes = 0
        self._replies: list[bytes] = []

    def reply(self, request_id: Id | None, reply: bytes) -> None:
        if self._bytes + len(reply) > REPLY_BYTES:
            excess = TooLarge(f"the replies to a batch have at most {REPLY_BYTES} bytes", limit=REPLY_BYTES)
            reply = error_reply(request_id, failure(excess))
        self._bytes += len(reply)
        self._replies.append(reply)
        if len(self._replies) == self._expected:
            self._send(b"[" + b",".join(self._replies) + b"]")
