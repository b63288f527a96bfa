"""The client's side of the protocol: LSP framing, requests with a deadline, the handshake."""

import json
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from abey_cli.channels import Channel
from abey_cli.failures import Failure, answered, timed_out, too_large, unreachable

PROTOCOL_MAJOR = "1"
SLOW_SECONDS = 0.5
METHOD_NOT_FOUND = -32601

Message = dict[str, Any]


class Connection:
    """`deadline` (time.monotonic) ends every wait with the failure `timeout`; `on_slow` is told
    each half second that an answer takes, and then that it came; `on_message` of what comes before it."""

    def __init__(self, channel: Channel, on_slow: Callable[[bool], None] = lambda _: None) -> None:
        self._channel = channel
        self.on_slow = on_slow
        self._buffer = bytearray()
        self._last_id = 0
        self._closed = False
        self.deadline: float | None = None
        self.on_message: Callable[[Message], None] = lambda _: None
        self.daemon: Mapping[str, Any] = {}

    def initialize(self, env: Mapping[str, str], name: str = "abey", kind: str = "cli") -> None:
        """The handshake; `env` is where the daemon looks up keys, `name` and `kind` are what it tells others of this
        client. Raises Failure `protocol/unsupported`."""
        result = self.request("initialize", _initialize_params(env, name, kind))
        self.daemon = _agents_of(result)
        self.notify("initialized", {})

    def request(self, method: str, params: Any = None) -> Any:
        """The result of a request. Raises Failure: the daemon's error, `daemon/unreachable`, `timeout`, and `too-large`
        for more than the daemon reads."""
        response = self.answer_to(self.send(method, params))
        if "error" in response:
            raise answered(response["error"])
        return response.get("result")

    def send(self, method: str, params: Any = None) -> int:
        """Sends a request and returns its id; its answer comes with `receive`. Raises Failure as `request` does."""
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, **_params_member(params)})
        return self._last_id

    def notify(self, method: str, params: Any = None) -> None:
        self._write({"jsonrpc": "2.0", "method": method, **_params_member(params)})

    def answer_to(self, request_id: int) -> Message:
        """The response to a request; other messages that come before it go to `on_message`."""
        slow = False
        try:
            while True:
                message = self.receive(SLOW_SECONDS)
                if message is None:
                    self.on_slow(slow := True)
                elif message.get("id") == request_id and "method" not in message:
                    return message
                else:
                    self.on_message(message)
        except TimeoutError as late:
            self.notify("$/cancelRequest", {"id": request_id})
            raise timed_out("no answer within --timeout; what was asked for goes on") from late
        finally:
            if slow:
                self.on_slow(False)

    def receive(self, patience: float | None = None) -> Message | None:
        """The next message, or None if none came within `patience` seconds. Raises TimeoutError at the deadline."""
        until = None if patience is None else time.monotonic() + patience
        while (message := self._take()) is None:
            if not self._fill(until):
                return None
        if "id" in message and "method" in message:
            self._refuse(message)
        return message

    def wait(self, others: Sequence[int]) -> list[int]:
        """The file descriptors of `others` that can be read, once one can or something came here.

        Raises TimeoutError at the deadline.
        """
        patience = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        ready = select.select([self._channel.read_fd, *others], [], [], patience)[0]
        if not ready:
            raise TimeoutError
        return [fd for fd in ready if fd in others]

    def close(self) -> None:
        """From then on a request is a Failure `daemon/unreachable`: its descriptors may be those of something else."""
        if not self._closed:
            try:
                self._channel.close(self._farewell)
            finally:
                self._closed = True

    def _farewell(self) -> None:
        if not self.daemon:
            return  # it has not answered yet
        self.deadline = time.monotonic() + 10
        self.request("shutdown")
        self.notify("exit")

    def _refuse(self, message: Message) -> None:
        error = {"code": METHOD_NOT_FOUND, "message": f"{message['method']} is nothing a command line offers"}
        self._write({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _check_open(self) -> None:
        if self._closed:
            raise unreachable("this connection was closed")

    def _fill(self, until: float | None) -> bool:
        self._check_open()
        ends = [end for end in (until, self.deadline) if end is not None]
        patience = max(0.0, min(ends) - time.monotonic()) if ends else None
        if select.select([self._channel.read_fd], [], [], patience)[0]:
            self._buffer += self._read()
            return True
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise TimeoutError
        return False

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._channel.read_fd, 1 << 16)
        except ConnectionError as error:
            raise self._channel.gone() from error
        if not chunk:
            raise self._channel.gone()
        return chunk

    def _take(self) -> Message | None:
        """A whole message out of the buffer, or None while there is none."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        start = end + 4
        whole = start + _content_length(bytes(self._buffer[:end]))
        if len(self._buffer) < whole:
            return None
        body = bytes(self._buffer[start:whole])
        del self._buffer[:whole]
        return _decoded(body)

    def _write(self, message: Message) -> None:
        self._check_open()
        body = _body(message)
        if (limit := self.daemon.get("limits", {}).get("frameBytes")) is not None and len(body) > limit:
            raise too_large(len(body), limit)  # the daemon would hang up on it
        frame = memoryview(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        try:
            while frame:
                frame = frame[os.write(self._channel.write_fd, frame) :]
        except ConnectionError as error:
            raise self._channel.gone() from error


def _body(message: Message) -> bytes:
    """In UTF-8, which is less than ASCII; half a character is spelled as JSON spells it, too."""
    return json.dumps(message, allow_nan=False, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _params_member(params: Any) -> Message:
    return {} if params is None else {"params": params}


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    raise unreachable("what answers there does not speak the protocol")


def _decoded(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise unreachable("what answers there does not speak the protocol") from error
    return message if isinstance(message, dict) else {}


def _initialize_params(env: Mapping[str, str], name: str, kind: str) -> Message:
    agents = {
        "protocolVersions": ["1.0"],
        **({"clientId": f"cli-{os.getpid()}"} if kind == "cli" else {}),
        "name": name,
        "kind": kind,
        "ui": {"approvals": True, "editArguments": True, "diffs": False},
    }
    return {
        "processId": None,
        "rootUri": None,
        "capabilities": {"experimental": {"agents": agents}},
        "initializationOptions": {"env": {name: value for name, value in env.items() if _is_text(name + value)}},
    }


def _is_text(value: str) -> bool:
    """False for bytes that are no UTF-8, which JSON cannot carry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _agents_of(result: Any) -> Mapping[str, Any]:
    experimental = (result or {}).get("capabilities", {}).get("experimental") or {}
    agents = experimental.get("agents")
    version = str(agents.get("protocolVersion", "")) if isinstance(agents, dict) else "none"
    if not isinstance(agents, dict) or version.split(".")[0] != PROTOCOL_MAJOR:
        data = {"kind": "protocol/unsupported", "retryable": False}
        raise Failure(f"the daemon speaks protocol {version}, this client {PROTOCOL_MAJOR}", -31013, data)
    return agents
