"""A client that blocks: requests of the protocol over a socket or the pipes of a program."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, Self

Message = dict[str, Any]


class Refused(Exception):
    """An error response."""


class Client:
    """One connection. `heard` are the notifications that came, in order, with nobody's having taken them."""

    def __init__(
        self, send: Callable[[bytes], object], receive: Callable[[], bytes], close: Callable[[], None]
    ) -> None:
        self._send = send
        self._receive = receive
        self.close = close
        self._buffer = b""
        self._last_id = 0
        self.heard: list[Message] = []

    @classmethod
    def of_socket(cls, connection: socket.socket) -> Self:
        return cls(connection.sendall, lambda: connection.recv(1 << 16), connection.close)

    @classmethod
    def of_pipes(cls, process: "subprocess.Popen[bytes]") -> Self:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        written, read = stdin.fileno(), stdout.fileno()
        return cls(lambda data: os.write(written, data), lambda: os.read(read, 1 << 16), stdin.close)

    def greet(self, env: Mapping[str, str] | None = None) -> Message:
        """The handshake; what the daemon can do."""
        agents = {"protocolVersions": ["1.0"], "clientId": "bench", "name": "bench", "kind": "test"}
        options = {} if env is None else {"initializationOptions": {"env": dict(env)}}
        capabilities = {"experimental": {"agents": agents}}
        found = self.request("initialize", processId=None, rootUri=None, capabilities=capabilities, **options)
        self.send({"method": "initialized", "params": {}})
        result: Message = found["capabilities"]["experimental"]["agents"]
        return result

    def request(self, method: str, **params: Any) -> Any:
        """The result. Raises Refused; EOFError where the connection ends."""
        asked = self.ask(method, **params)
        while True:
            message = self.next_message()
            if "method" in message:
                self.heard.append(message)
            elif message["id"] == asked:
                if "error" in message:
                    raise Refused(f"{method}: {message['error']}")
                return message["result"]

    def ask(self, method: str, **params: Any) -> int:
        """Sends a request, for which nobody waits yet; its id."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        self._send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def next_message(self) -> Message:
        """What comes next. Raises EOFError where nothing does."""
        while True:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            length = _length(head) if found else 0
            if found and len(rest) >= length:
                self._buffer = rest[length:]
                message: Message = json.loads(rest[:length])
                return message
            piece = self._receive()
            if not piece:
                raise EOFError
            self._buffer += piece


def _length(head: bytes) -> int:
    lines = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n"))
    return int(lines[b"content-length"])
