"""Clients that do things at random, each in its own thread, and log all they do and hear; and who ends the daemon."""

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from support.background import Background
from support.e2e import Place, calls, deferred, says
from support.e2e_peer import PATIENCE, Gone, Message, Peer, Refusal
from support.jepsen.history import Attached, Ended, Event, Notice, Operation, Outcome, Said, Told, Winner

from abey.shared.starting import NoDaemon, connect

SESSIONS = ("s0", "s1", "s2", "s3")
SCRIPT = [
    calls(("ext", {"x": "1"}), ("sh", {"command": "true"})),
    says("one"),
    calls(("ext", {"x": "2"}), ("ext", {"x": "3"}), ("ext", {"x": "4"})),
    says("two"),
]

Call = tuple[str, dict[str, Any], Operation]
"""A request: method, params, and what is logged of it."""


def config(place: Place) -> Any:
    """An agent that asks for calls which only clients can answer, for ever."""
    return place.config(script=SCRIPT, loop=True, rules=[deferred("sh")])


class LoggedPeer(Peer):
    """A connection that logs, in the order in which things come."""

    def __init__(self, client: "Client", connection: Any) -> None:
        super().__init__(connection)
        self._client = client
        self._asked: set[int] = set()
        self.came: dict[int, tuple[float, dict[str, int]]] = {}

    def start(self, method: str, **params: Any) -> int:
        request_id = super().start(method, **params)
        self._asked.add(request_id)
        return request_id

    def await_answer(self, request_id: int) -> None:
        """Takes messages until the answer is among them. Raises Gone; TimeoutError where none comes."""
        while request_id not in self.came:
            self._take(self._message(time.monotonic() + PATIENCE))

    def answer_of(self, request_id: int) -> Message:
        return self._answers.pop(request_id)

    def _take(self, message: Message) -> None:
        if "method" in message:
            self._client.hear(message)
            return
        if message["id"] in self._asked:
            self._asked.remove(message["id"])
        else:
            self._client.strays.append(f"the answer {message['id']} to {self._client.name}")
        super()._take(message)
        self.came[message["id"]] = time.monotonic(), dict(self._client.seen)


@dataclass
class Client:
    """`seen` is the last event heard of each session that it is attached to; `known` that of each it ever was."""

    name: str
    place: Place
    chance: Random
    halt: threading.Event
    operations: list[Operation] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    _inputs: int = 0
    _doubtful: list[Call] = field(default_factory=list)
    _life: Background | None = None

    def begin(self) -> None:
        self._life = Background(self._live, self.name)

    def join(self) -> None:
        assert self._life is not None
        self._life.join()

    def finish(self) -> dict[tuple[str, str], int]:
        """Attached to every session, it hears what there is; the last event of each."""
        with self._connected() as peer:
            for session_id in SESSIONS:
                self._attach(peer, session_id)
            peer.request("agents/status")
            last = {(self.name, session_id): seq for session_id, seq in self.seen.items()}
        self._cut()
        return last

    def hear(self, message: Message) -> None:
        params = message["params"]
        match message["method"]:
            case "agents/event" if "seq" in params:
                told = _told(params)
                self.notices.append(Event(params["sessionId"], told))
                self.seen[params["sessionId"]] = self.known[params["sessionId"]] = told.seq
            case "agents/overflow":
                self._ended(params["sessionId"])

    def _live(self) -> None:
        while not self.halt.is_set():
            self._talk()

    def _talk(self) -> None:
        """On one connection, until it ends."""
        try:
            with self._connected() as peer:
                while not self.halt.is_set():
                    self._act(peer)
        except TimeoutError:
            raise  # a request that is not answered is no daemon that went
        except Refusal as refused:
            if refused.kind not in ("daemon/draining", "daemon/gone"):
                raise
        except (Gone, NoDaemon, OSError):
            self.halt.wait(0.01)
        self._cut()

    def _connected(self) -> LoggedPeer:
        peer = LoggedPeer(self, connect(self.place.state, self.place.env, start=False, timeout=PATIENCE))
        try:
            peer.initialize(self.name, self.place.env)
        except (Gone, OSError):
            peer.close()
            raise
        return peer

    def _act(self, peer: LoggedPeer) -> None:
        roll = self.chance.random()
        if roll < 0.12:
            self._attach(peer, self.chance.choice(SESSIONS))
        elif roll < 0.17:
            self._attach_to_some(peer)
        elif roll < 0.22:
            self._detach(peer, self.chance.choice(SESSIONS))
        else:
            self._request(peer, [self._any(peer) for _ in range(self.chance.choice((1, 1, 2, 4)))])

    def _any(self, peer: LoggedPeer) -> Call:
        if self._doubtful and self.chance.random() < 0.8:
            return self._doubtful.pop()
        session_id, roll = self.chance.choice(SESSIONS), self.chance.random()
        if roll < 0.35:
            return self._send(session_id)
        if roll < 0.65:
            return self._plain("agents/step", session_id, keyed=True)
        if roll < 0.72:
            return self._plain("agents/cancel", session_id)
        if roll < 0.8:
            return self._plain("agents/get", session_id)
        return self._answer(peer, session_id)

    def _send(self, session_id: str) -> Call:
        self._inputs += 1
        subject = f"{self.name}-i{self._inputs}"
        delivery = self.chance.choice(("turn", "queue", "interrupt"))
        params = {"sessionId": session_id, "prompt": subject, "inputId": subject, "delivery": delivery}
        return self._keyed("agents/send", params, Operation(self.name, "agents/send", session_id, 0, subject))

    def _plain(self, method: str, session_id: str, *, keyed: bool = False) -> Call:
        params, operation = {"sessionId": session_id}, Operation(self.name, method, session_id, 0)
        return self._keyed(method, params, operation) if keyed else (method, params, operation)

    def _answer(self, peer: LoggedPeer, session_id: str) -> Call:
        pending = peer.request("agents/pending", sessionId=session_id)["items"]
        if not pending:
            return self._plain("agents/step", session_id, keyed=True)
        token = self.chance.choice(pending)["token"]
        self._inputs += 1
        word = f"{self.name}-a{self._inputs}"
        outcome = self.chance.choice(({"kind": "deny", "message": word}, {"kind": "error", "message": word}))
        operation = Operation(self.name, "agents/complete", session_id, 0, token)
        return self._keyed("agents/complete", {"token": token, "outcome": outcome}, operation)

    def _keyed(self, method: str, params: dict[str, Any], operation: Operation) -> Call:
        """Half of the requests have a key."""
        if self.chance.random() < 0.5:
            return method, params, operation
        self._inputs += 1
        key = f"{self.name}-k{self._inputs}"
        return method, {**params, "idempotencyKey": key}, replace(operation, key=key)

    def _request(self, peer: LoggedPeer, requests: list[Call]) -> None:
        """All at once; what is not answered is asked again later, as it was."""
        asked: list[tuple[Call, int | None]] = []
        try:
            for method, params, operation in requests:
                begun = method, params, replace(operation, start=time.monotonic())
                asked.append((begun, None))
                asked[-1] = begun, peer.start(method, **params)
            for _, request_id in asked:
                assert request_id is not None
                peer.await_answer(request_id)
        finally:
            for call, request_id in asked:
                self._log(peer, call, request_id)

    def _log(self, peer: LoggedPeer, call: Call, request_id: int | None) -> None:
        method, _, operation = call
        if request_id is None or request_id not in peer.came:
            self.operations.append(operation)
            if operation.subject or operation.key:
                self._doubtful.append(call)
            return
        end, seen = peer.came[request_id]
        answer = peer.answer_of(request_id)
        error = answer.get("error", {}).get("data", {}).get("kind", "")
        if error == "daemon/gone" or answer.get("result", {}).get("interrupted"):
            # nobody can tell how far it got
            self.operations.append(replace(operation, error=error or "interrupted"))
            if error:
                self._doubtful.append(call)
            return
        outcome: Outcome = "refused" if "error" in answer else "ok"
        said = None if outcome == "refused" else _said(method, answer["result"])
        heard = seen.get(operation.session_id)
        self.operations.append(
            replace(operation, end=end, outcome=outcome, error=error, said=said, heard=heard if said else None)
        )

    def _attach(self, peer: LoggedPeer, session_id: str) -> None:
        after = self.known.get(session_id) if self.chance.random() < 0.8 else None
        known = {} if after is None else {"after": after}
        result = peer.request("agents/attach", sessionId=session_id, **known)
        self._attached(session_id, after, result["seq"], result["replay"], snapshot="snapshot" in result)

    def _attach_to_some(self, peer: LoggedPeer) -> None:
        after = {one: seq for one, seq in self.known.items() if self.chance.random() < 0.7}
        result = peer.request("agents/attach", sessionId="*", after=after)
        for told in result["sessions"]:
            if told["status"] == "ok":
                named = told["sessionId"]
                replay = [event for event in result["replay"] if event["sessionId"] == named]
                self._attached(named, after[named], told["seq"], replay, snapshot=False)

    def _attached(self, session_id: str, after: int | None, seq: int, replay: list[Any], *, snapshot: bool) -> None:
        told = tuple(map(_told, replay))
        # what came after the answer and was heard already stands behind it in the notices
        self.notices.append(Attached(session_id, after, seq, told, snapshot))
        self.seen[session_id] = self.known[session_id] = seq

    def _detach(self, peer: LoggedPeer, session_id: str) -> None:
        peer.request("agents/detach", sessionId=session_id)
        self._ended(session_id)

    def _ended(self, session_id: str) -> None:
        self.seen.pop(session_id, None)
        self.notices.append(Ended(session_id))

    def _cut(self) -> None:
        for session_id in tuple(self.seen):
            self._ended(session_id)


def _told(params: Any) -> Told:
    digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:16]
    return Told(params["seq"], params["revision"], params["event"]["type"], digest)


def _said(method: str, result: Any) -> Said:
    session = result["session"]
    winner = None
    if method == "agents/complete":
        resolution = result["resolution"]
        client = resolution.get("client", {}).get("id", resolution["by"])
        winner = Winner(resolution["kind"], client.removesuffix("-1"), resolution["at"], resolution.get("message", ""))
    return Said(
        session["sessionId"], session["revision"], result.get("inputId", ""), result.get("applied", False), winner
    )
