"""JSON lines in, JSON lines out: many requests in flight on one connection."""

import json
import os
from collections import deque
from typing import Any

from abey.shared.kinds import CODES
from abey_cli.connection import Connection, Message
from abey_cli.context import Context
from abey_cli.failures import Failure, refused_input, timed_out

PARSE_ERROR = -32700
IN_FLIGHT = 200
"""Where the daemon names no limit of its own."""


class Relay:
    """Reads stdin as the daemon has room, and prints every answer when it comes, and with `events` every notification.
    One use."""

    def __init__(self, context: Context, *, events: bool = False) -> None:
        if context.console.stdin is None:
            raise refused_input("stdin is closed")
        self._stdin = context.console.stdin.fileno()
        self._client: Connection = context.client
        self._console = context.console
        self._limit = int(self._client.daemon.get("limits", {}).get("requestsInFlight", IN_FLIGHT))
        self._lines: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._ended = False
        self._open: dict[int, Any] = {}
        self._failed = False
        self._events = events
        self._client.on_message = self._answered

    def run(self) -> bool:
        """Until stdin has ended and everything is answered; True if any answer was an error.

        Raises Failure `daemon/unreachable` when the daemon goes (what was open is answered with `daemon/gone`),
        `timeout` at the deadline.
        """
        try:
            while not (self._ended and not self._lines and not self._open):
                self._turn()
        except TimeoutError as late:
            raise timed_out(f"{len(self._open)} requests are not answered within --timeout") from late
        except Failure as failure:
            self._answer_the_open(failure)
            raise
        return self._failed

    def _turn(self) -> None:
        """Sends what fits, prints what came, or waits for whichever comes first: lines or an answer."""
        while self._lines and len(self._open) < self._limit:
            self._take(self._lines.popleft())
        while (message := self._client.receive(0)) is not None:
            self._answered(message)
        wants_lines = not self._ended and not self._lines
        if wants_lines or self._open:
            ready = self._client.wait([self._stdin] if wants_lines else [])
            if self._stdin in ready:
                self._read()

    def _read(self) -> None:
        chunk = os.read(self._stdin, 1 << 16)
        self._ended = not chunk
        *whole, rest = chunk.split(b"\n")
        if whole:
            self._lines.append(b"".join([*self._partial, whole[0]]))
            self._lines.extend(whole[1:])
            self._partial = []
        self._partial.append(rest)
        if self._ended:
            self._lines.append(b"".join(self._partial))

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            request = _request(line)
        except BadLine as bad:
            data = {"kind": "parse-error", "retryable": False}
            self._print({"id": bad.request_id, "error": {"code": PARSE_ERROR, "message": str(bad), "data": data}})
            return
        if request["method"] == "$/cancelRequest":
            self._cancel(request.get("params"))
            return
        try:
            ours = self._client.send(request["method"], request.get("params", {}))
        except Failure as failure:
            if failure.kind != "too-large":
                raise
            self._print({"id": request.get("id"), "error": failure.wire})
            return
        self._open[ours] = request.get("id")

    def _cancel(self, params: Any) -> None:
        theirs = params.get("id") if isinstance(params, dict) else None
        for ours in [ours for ours, given in self._open.items() if given == theirs]:
            self._client.notify("$/cancelRequest", {"id": ours})

    def _answered(self, message: Message) -> None:
        ours = message.get("id")
        if "method" in message and "id" not in message and self._events:
            self._console.value({name: message[name] for name in ("method", "params") if name in message})
        if "method" in message or ours not in self._open:
            return
        member = "error" if "error" in message else "result"
        self._print({"id": self._open.pop(ours), member: message.get(member)})

    def _answer_the_open(self, failure: Failure) -> None:
        data = {"kind": "daemon/gone", "retryable": True}
        for theirs in self._open.values():
            error = {"code": CODES["daemon/gone"], "message": failure.message, "data": data}
            self._print({"id": theirs, "error": error})

    def _print(self, answer: Message) -> None:
        self._failed = self._failed or "error" in answer
        self._console.value(answer)


class BadLine(Exception):
    """A line that is no request; `request_id` is its id where one can be read."""

    def __init__(self, message: str, request_id: Any = None) -> None:
        super().__init__(message)
        self.request_id = request_id


def _request(line: bytes) -> Message:
    """The request in a line. Raises BadLine."""
    try:
        request = json.loads(line)
        json.dumps(request, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"this line is no JSON: {error}") from error
    if not isinstance(request, dict):
        raise BadLine("this line is no object with a method")
    if not isinstance(request.get("method"), str):
        raise BadLine("this line is no object with a method", request.get("id"))
    return request
