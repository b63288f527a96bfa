"""Clients of a simulated daemon: they say messages and log, for the checker, all they do and hear."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from support.jepsen.history import Attached, Ended, Event, Notice, Operation, Outcome, Said, Told, Winner
from support.simulation.records import FINAL

from abey.rpc.admission import OPEN
from abey.rpc.connection import LIMITS
from abey.rpc.dialogue import Dialogue
from abey.rpc.dispatch import Surface
from abey.rpc.faults import RequestCancelled
from abey.rpc.framing import Body, Frames
from abey.rpc.outbox import Outbox

UNKNOWN = ("daemon/gone", "record/failed")
"""Failures that leave open how far the request got."""
INTERNAL, CANCELLED = -32603, -32800


class Stream:
    """What an outbox writes to: everything arrives at once, until the client is gone."""

    def __init__(self, hear: Callable[[Any], None]) -> None:
        self._hear = hear
        self._frames = Frames(LIMITS.header_bytes, LIMITS.frame_bytes)
        self.closed = False

    def write(self, framed: bytes) -> None:
        for event in self._frames.feed(framed):
            assert isinstance(event, Body), event
            self._hear(json.loads(event.data))

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.closed = True


@dataclass
class Client:
    """`seen` is the last event heard of each session that it is attached to; `known` that of each it ever was. `heard`
    are all events, also those that are live only. `open` are its requests that were not answered yet, on the connection
    that it has."""

    name: str
    time: Callable[[], float]
    told: Callable[[str], None]
    operations: list[Operation] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    open: dict[int, tuple[str, dict[str, Any], Operation]] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)
    last: tuple[str, dict[str, Any], Operation] | None = None
    number: int = 0
    _dialogue: Dialogue | None = None
    _stream: Stream | None = None

    @property
    def connected(self) -> bool:
        return self._dialogue is not None

    def connect(self, surface: Surface) -> None:
        self._stream = Stream(self._hear)
        outbox = Outbox(self.name, self._stream)  # type: ignore[arg-type]  # as much of a transport as it needs
        self._dialogue = Dialogue(surface, outbox, LIMITS, OPEN)
        agents = {"protocolVersions": ["1.0"], "clientId": self.name, "name": self.name, "kind": "test", "deltas": True}
        self._say("initialize", {"capabilities": {"experimental": {"agents": agents}}, "initializationOptions": {}})

    def ask(self, method: str, params: dict[str, Any], session_id: str = "", subject: str = "", key: str = "") -> int:
        """Its id; the answer comes to `answers`."""
        self.last = method, params, Operation(self.name, method, session_id, 0, subject, key)
        return self.ask_again(*self.last)

    def ask_again(self, method: str, params: dict[str, Any], operation: Operation) -> int:
        said = {**params, "idempotencyKey": operation.key} if operation.key else params
        self.told(f"{self.name}: {method} {json.dumps(said, ensure_ascii=False)[:300]}")
        return self._say(method, said, replace(operation, start=self._tick()))

    def cancel_last(self) -> None:
        if self._dialogue is not None and self.open:
            self._take({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": max(self.open)}})

    def leave(self, why: Any = None) -> None:
        """The connection ends; a dead daemon is told nothing."""
        if self._dialogue is not None and self._stream is not None:
            self._stream.closed = True
            self._dialogue.end(why or RequestCancelled("the client left"))
        self.lose()

    def end(self, why: Any) -> None:
        """The daemon ends the connection: what is open is answered first."""
        if self._dialogue is not None:
            self._dialogue.end(why)

    def lose(self) -> None:
        """The connection is gone, and with it every answer that has not come."""
        for session_id in tuple(self.seen):
            self._ended(session_id)
        self.operations += [operation for _, _, operation in self.open.values()]
        self.open.clear()
        self._dialogue = self._stream = None

    def _say(self, method: str, params: Any, operation: Operation | None = None) -> int:
        self.number += 1
        self.open[self.number] = method, params, operation or Operation(self.name, method, "", self._tick())
        self._take({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def _take(self, message: Any) -> None:
        assert self._dialogue is not None
        self._dialogue.take(json.dumps(message).encode())

    def _tick(self) -> float:
        """Later than all before: nothing of one client happens at the same time."""
        return self.time()

    def _hear(self, message: Any) -> None:
        if "method" in message:
            self._notified(message["method"], message["params"])
        elif message["id"] in self.open:
            self._answered(message, *self.open.pop(message["id"]))
        else:
            self.strays.append(f"the answer {message['id']} to {self.name}")

    def _notified(self, method: str, params: Any) -> None:
        if method == "agents/event":
            self.heard.append(params)
        match method:
            case "agents/event" if "seq" in params:
                told = told_of(params)
                self.notices.append(Event(params["sessionId"], told))
                self.seen[params["sessionId"]] = self.known[params["sessionId"]] = told.seq
            case "agents/overflow":
                self._ended(params["sessionId"])
            case "agents/summary" if params.get("deleted"):
                self._ended(params["sessionId"])

    def _answered(self, message: Any, method: str, params: Any, operation: Operation) -> None:
        self.answers[message["id"]] = message
        error = message.get("error")
        shown = error["data"].get("kind", error["code"]) if error else "ok"
        named = f" of {params['seed']['id']}" if method == "agents/seed" else ""
        self.told(f"{self.name}: {method}{named} is answered: {shown}")
        if error and error["code"] == INTERNAL:
            self.broken.append(f"{method} {json.dumps(params)} is answered with an internal error: {error}")
        if method == "initialize":
            return
        result = message.get("result") or {}
        ended = replace(operation, end=self._tick(), error=str(shown) if error else "")
        if (error and open_how_far(error)) or result.get("interrupted"):
            self.operations.append(replace(ended, end=float("inf")))
            return
        outcome: Outcome = "refused" if error else "ok"
        said = None if error else said_by(method, operation, result)
        heard = self.seen.get(operation.session_id) if said else None
        self.operations.append(replace(ended, outcome=outcome, said=said, heard=heard))
        if method == "agents/attach" and not error:
            told = tuple(map(told_of, result["replay"]))
            attached = Attached(params["sessionId"], params.get("after"), result["seq"], told, "snapshot" in result)
            self.notices.append(attached)
            self.seen[params["sessionId"]] = self.known[params["sessionId"]] = result["seq"]
        elif method == "agents/detach" and not error:
            self._ended(params["sessionId"])

    def _ended(self, session_id: str) -> None:
        self.seen.pop(session_id, None)
        self.notices.append(Ended(session_id))


def open_how_far(error: Any) -> bool:
    """Whether a request that failed so may have been taken all the same: with a session it tells of a run that failed
    after it was."""
    data = error["data"]
    return error["code"] == CANCELLED or data.get("kind") in UNKNOWN or "session" in data


def told_of(params: Any) -> Told:
    digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:16]
    return Told(params["seq"], params["revision"], params["event"]["type"], digest)


def said_by(method: str, operation: Operation, result: Any) -> Said | None:
    """What it says of the session that it was asked about."""
    session = result.get("session", result)
    if not operation.session_id or method in ("agents/fork", "agents/record") or "revision" not in (session or {}):
        return None
    winner = None
    if method == "agents/complete":
        resolution = result["resolution"]
        if resolution["kind"] not in FINAL:
            return Said(session["sessionId"], session["revision"], applied=result["applied"])
        client = resolution.get("client", {}).get("id", resolution["by"])
        winner = Winner(resolution["kind"], client, resolution["at"], resolution.get("message", ""))
    input_id = result.get("inputId", "")
    return Said(session["sessionId"], session["revision"], input_id, result.get("applied", False), winner)
