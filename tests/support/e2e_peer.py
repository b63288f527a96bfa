"""A raw framed client that blocks: what it sends and what it gets, message by message."""

import json
import socket
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

PATIENCE = 30.0

Message = dict[str, Any]


class Refusal(Exception):
    """An error response: `kind` is what clients match on."""

    def __init__(self, error: Message) -> None:
        super().__init__(error["message"])
        self.message: str = error["message"]
        self.code: int = error["code"]
        self.data: Message = error.get("data") or {}

    @property
    def kind(self) -> str:
        return str(self.data.get("kind"))


class Gone(Exception):
    """The connection ended."""


class Peer:
    """One connection. `heard` holds every notification that `hear` has not given out, in order."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self._last_id = 0
        self._answers: dict[int, Message] = {}
        self.heard: list[Message] = []
        self.daemon: Message = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def initialize(self, name: str, env: Mapping[str, str], **said: Any) -> None:
        """The handshake; `daemon` holds what the daemon can do afterwards."""
        agents = {"protocolVersions": ["1.0"], "clientId": f"{name}-1", "name": name, "kind": "test", **said}
        result = self.request(
            "initialize",
            processId=None,
            rootUri=None,
            capabilities={"experimental": {"agents": agents}},
            initializationOptions={"env": dict(env)},
        )
        self.notify("initialized", {})
        self.daemon = result["capabilities"]["experimental"]["agents"]

    @property
    def answered(self) -> int:
        """How many answers have come that nobody has taken."""
        return len(self._answers)

    @property
    def pid(self) -> int:
        """The daemon's."""
        return int(self.daemon["daemon"]["pid"])

    def request(self, method: str, **params: Any) -> Any:
        """The result. Raises Refusal, Gone."""
        return self.answer(self.start(method, **params))

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Message) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def raw(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._connection.sendall(data)

    def answer(self, request_id: int) -> Any:
        """The result of a request that was started. Raises Refusal, Gone."""
        end = time.monotonic() + PATIENCE
        while request_id not in self._answers:
            self._take(self._message(end))
        answer = self._answers.pop(request_id)
        if "error" in answer:
            raise Refusal(answer["error"])
        return answer["result"]

    def hear(self, method: str) -> Message:
        """The params of the first notification of that method that nobody heard yet."""
        end = time.monotonic() + PATIENCE
        while not (found := [one for one in self.heard if one["method"] == method]):
            self._take(self._message(end))
        self.heard.remove(found[0])
        params: Message = found[0]["params"]
        return params

    def hang_up(self) -> None:
        """Goes without a word, as a killed client does."""
        self._connection.close()

    close = hang_up

    def ended(self) -> bool:
        """Waits for the daemon to hang up; what still comes is kept."""
        try:
            while True:
                self._take(self._message(time.monotonic() + PATIENCE))
        except Gone:
            return True

    def _take(self, message: Message) -> None:
        if "method" in message:
            self.heard.append(message)
        else:
            self._answers[message["id"]] = message

    def _send(self, message: Message) -> None:
        body = json.dumps(message).encode()
        try:
            self._connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except ConnectionError as error:
            raise Gone from error

    def _message(self, end: float) -> Message:
        while True:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            length = int(head.split(b":")[1]) if found else 0
            if found and len(rest) >= length:
                self._buffer = rest[length:]
                message: Message = json.loads(rest[:length])
                return message
            self._connection.settimeout(max(0.001, end - time.monotonic()))
            try:
                chunk = self._connection.recv(1 << 16)
            except ConnectionError as error:
                raise Gone from error
            if not chunk:
                raise Gone
            self._buffer += chunk
