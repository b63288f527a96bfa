"""A client that says one hostile thing and then one good one, over any socket, and what came of it."""

import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from support.e2e_peer import PATIENCE

from abey.rpc.framing import Body, Frames, frame

INITIALIZE = {"processId": None, "capabilities": {"experimental": {"agents": {"protocolVersions": ["1.0"]}}}}


BODY_BYTES = 9973
"""A length that nothing hostile announces: half a header and ours would make one good message."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`answers` came to what was hostile; `good` to the good request after it, None where the connection ended."""

    answers: list[Any]
    good: Any


class HostileClient:
    """It has greeted the daemon when it is made."""

    def __init__(self, connection: socket.socket, method: str) -> None:
        self._connection = connection
        self._method = method
        self._frames = Frames(1 << 13, 1 << 30)
        self._seen: list[Any] = []
        connection.settimeout(PATIENCE)
        self._say("initialize", INITIALIZE, "hello")
        while not any("result" in one and one["id"] == "hello" for one in self._seen):
            assert self._read(), "no answer to initialize"
        self._seen.clear()

    def attack(self, data: bytes) -> None:
        """It is sent; nothing is read yet, and the connection stays open."""
        self._send(data)

    def outcome(self) -> Outcome:
        """Says something good, and nothing more; all that is answered until the daemon hangs up."""
        self._say(self._method, {}, "good")
        with suppress(OSError):  # the daemon was first
            self._connection.shutdown(socket.SHUT_WR)
        while self._read():
            pass
        self._connection.close()
        answers = [one for one in self._seen if not (isinstance(one, dict) and "method" in one)]
        good = [one for one in answers if isinstance(one, dict) and one.get("id") == "good"]
        return Outcome([one for one in answers if one not in good], good[0] if good else None)

    def _say(self, method: str, params: Any, request_id: str) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()
        self._send(frame(body.ljust(BODY_BYTES)))

    def _send(self, data: bytes) -> None:
        with suppress(ConnectionError):  # it was hung up on in mid-sentence
            self._connection.sendall(data)

    def _read(self) -> bool:
        try:
            data = self._connection.recv(1 << 16)
        except ConnectionError:
            return False
        self._seen += [json.loads(event.data) for event in self._frames.feed(data) if isinstance(event, Body)]
        return bool(data)
