"""A daemon of canned answers behind a real unix socket, and the values it answers with."""

import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from abey.shared.places import socket_path
from abey.shared.version import VERSION

SESSION_ID = "01jx0000000000000000000abc"
TOKEN = "6f0c" + "0" * 28
HASH = "a" * 64
AT = "2025-11-29T12:00:00.000Z"
AGENTS = {
    "protocolVersion": "1.0",
    "limits": {"requestsInFlight": 256},
    "daemon": {"pid": os.getpid(), "buildId": VERSION, "startedAt": AT, "stateDir": "/s"},
}

Params = dict[str, Any]
Handler = Callable[[Params], Any]


class Refusal(Exception):
    """An error answer."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class CannedDaemon:
    """`on[method]` is the answer to a method, or a function of its params; `asked` is what was asked for, in order;
    `unasked[method]` are notifications that come before the answer."""

    def __init__(self) -> None:
        self.on: dict[str, Any] = {
            "agents/attach": {"snapshot": {"session": session(), "items": []}, "replay": [], "seq": 0},
            "agents/get": {"session": session(revision=1)},
            "agents/transcript": transcript(),
        }
        self.asked: list[tuple[str, Params]] = []
        self.unasked: dict[str, list[Params]] = {}
        self.initialized: list[Params] = []
        self.notified: list[tuple[str, Params]] = []
        self.agents: Mapping[str, Any] | None = AGENTS

    def params(self, method: str) -> list[Params]:
        return [params for asked, params in self.asked if asked == method]

    def answer(self, message: Params) -> Params | None:
        method, params = message["method"], message.get("params") or {}
        if "id" not in message:
            self.notified.append((method, params))
            return None
        head = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**head, "result": self._result(method, params)}
        except Refusal as refusal:
            return {**head, "error": refusal.error}

    def _result(self, method: str, params: Params) -> Any:
        if method == "initialize":
            self.initialized.append(params)
            return {"capabilities": {"experimental": {"agents": self.agents}}}
        self.asked.append((method, params))
        if method not in self.on:
            raise Refusal(-32601, f"no method {method}")
        answer = self.on[method]
        return answer(params) if callable(answer) else answer


@contextmanager
def listening(daemon: CannedDaemon, state: Path) -> Iterator[None]:
    """`daemon` on a socket that the address file in `state` names; every connection has a thread."""
    folder = tempfile.mkdtemp(prefix="abey-canned-")
    path = os.path.join(folder, socket_path(state, {}).name)
    listener = socket.create_server(path, family=socket.AF_UNIX)
    state.mkdir(parents=True, exist_ok=True)
    (state / "daemon.addr").write_text(f"{path}\n")
    accepting = threading.Thread(target=_accept, args=(daemon, listener))
    accepting.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()
        shutil.rmtree(folder)


def read_frame(stream: Any) -> Params | None:
    """The next message of a binary stream; None at its end."""
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    body = stream.read(length) if line else b""
    return json.loads(body) if body else None


def frame(message: Params) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def session(**changes: Any) -> Params:
    """A session in `userTurn`."""
    base = {
        "sessionId": SESSION_ID,
        "agent": "a",
        "title": "Research",
        "cwd": "/w",
        "state": "userTurn",
        "activity": "idle",
        "revision": 2,
        "turn": {"turnId": "t1", "n": 1, "startedAt": AT},
        "pending": [],
        "queued": [],
        "drivenBy": "step",
        "executionMode": "asynchronous",
        "usage": {"inputTokens": 0, "outputTokens": 0},
        "createdAt": AT,
        "updatedAt": AT,
        "children": [],
        "configHash": "c",
        "configState": "ok",
    }
    return {**base, **changes}


def empty() -> Params:
    """A session that was told nothing yet."""
    return {name: value for name, value in session(state="completed").items() if name != "turn"}


def answered(text: str = "all done", **changes: Any) -> Params:
    turn = {"turnId": "t1", "n": 1, "startedAt": AT, "endedAt": AT, "end": "answered"}
    return session(state="completed", turn=turn, output=text, **changes)


def ended(end: str) -> Params:
    turn = {"turnId": "t1", "n": 1, "startedAt": AT, "endedAt": AT, "end": end}
    return session(state="completed", turn=turn)


def waiting(*calls: Params) -> Params:
    return session(state="partialUserTurn", pending=list(calls or (pending(),)))


def pending(**changes: Any) -> Params:
    """A pending call that waits for an approval."""
    base = {
        "token": TOKEN,
        "sessionId": SESSION_ID,
        "turnId": "t1",
        "callId": "c2",
        "kind": "approval",
        "tool": "bash_command",
        "title": "bash_command date",
        "arguments": {"command": "date"},
        "argumentsHash": HASH,
        "editable": True,
        "cwd": "/w",
        "reason": "approval required",
        "suggestions": [],
        "createdAt": AT,
    }
    return {**base, **changes}


def tool_item(tool: str, state: str, revision: int = 3, **call: Any) -> Params:
    base = {"itemId": f"{revision}.{tool}", "revision": revision, "turnId": "t1", "at": AT, "kind": "toolCall"}
    return {**base, "call": {"callId": tool, "tool": tool, "arguments": {}, "state": state, **call}}


def input_item() -> Params:
    parts = [{"kind": "text", "text": "hello"}]
    return {"itemId": "2.0", "revision": 2, "turnId": "t1", "at": AT, "kind": "input", "parts": parts}


def transcript(*items: Params) -> Params:
    turn = {"turnId": "t1", "n": 1, "usage": {"inputTokens": 7, "outputTokens": 3}}
    return {"items": list(items), "hasMore": False, "turns": [turn] if items else []}


def completion(kind: str, applied: bool = True, **changes: Any) -> Params:
    resolution = {"kind": kind, "by": "ann", "at": AT, "text": f"{kind} by ann"}
    return {"applied": applied, "resolution": {**resolution, **changes}, "turnComplete": True, "session": session()}


def _accept(daemon: CannedDaemon, listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=_serve, args=(daemon, connection), daemon=True).start()


def _serve(daemon: CannedDaemon, connection: socket.socket) -> None:
    writing = threading.Lock()
    with connection, connection.makefile("rb") as stream:
        try:
            while (message := read_frame(stream)) is not None:
                threading.Thread(target=_reply, args=(daemon, connection, writing, message), daemon=True).start()
        except OSError:  # the client went in the middle of a frame
            return


def _reply(daemon: CannedDaemon, connection: socket.socket, writing: threading.Lock, message: Params) -> None:
    answer = daemon.answer(message)
    if answer is not None:
        try:
            with writing:
                for one in (*daemon.unasked.pop(message["method"], ()), answer):
                    connection.sendall(frame(one))
        except OSError:  # the client did not wait
            return
