"""Mixed traffic on a real daemon: clients that start, send, step, answer and cancel, and what they were told."""

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from support import e2e_journal
from support.background import Background
from support.e2e import Place, Value, calls, command, deferred, says, until
from support.e2e_crash import ALIVE, Death, Nursery
from support.e2e_peer import Gone, Peer, Refusal
from support.processes import alive

from abey.shared.starting import NoDaemon

ENTRIES = 40
WRITERS = ("bump", "ask", "later", "tree", "fat")
"""The tools that append a line for each run."""

TREE = """sleep MARK &
(setsid sh -c '(setsid sleep MARK &)' &)
nohup sleep MARK >/dev/null 2>&1 &
exec sleep MARK"""

HARMLESS = {
    "session/busy",
    "state/invalid",
    "session/stopped",
    "record/failed",
    "session/unknown",
    "daemon/draining",
    "daemon/gone",
}
"""What a client may be told amid kills, full disks and the doings of others."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a reply acknowledged: the session stands at `revision`; `key` is the input's id, or the call's token and the
    kind of the answer: an approved call that was cut short may be given a result later."""

    session_id: str
    kind: Literal["revision", "input", "answer"]
    revision: int
    key: str = ""


@dataclass
class Bench:
    """One machine, its clients' sessions, and everything that was acknowledged on it."""

    place: Place
    nursery: Nursery
    mark: str
    told: list[Told] = field(default_factory=list)
    known: dict[str, bytes] = field(default_factory=dict)
    halt: threading.Event = field(default_factory=threading.Event)
    touched: set[str] = field(default_factory=set)
    checked: int = 0

    def wake(self, death: Death = ALIVE, shaky: float = 0.0, seed: int = 0) -> Peer:
        """A client of a new daemon; `shaky` is how often a write or a sync of it fails."""
        return self.nursery.wake(self.place, death, shaky, seed)

    def config(self, session_id: str, script: list[Value]) -> Value:
        """An agent with WRITERS and `ext`. Every call of the script has an argument that no other call has."""
        word = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
        line = f'echo "$1" >> {self.place.count}\n'
        ends = dict.fromkeys(("bump", "ask", "later"), f"{line}echo did")
        ends |= {"tree": line + TREE.replace("MARK", self.mark), "fat": f"{line}head -c 40000 /dev/zero | tr '\\0' x"}
        tools = [command(name, word, ["sh", "-c", text, "sh", "{x}"]) for name, text in ends.items()]
        tools.append({"kind": "external", "name": "ext", "description": "outside", "parameters": word})
        rules = [deferred("ask"), *({"tool": name, "disposition": "runAsync"} for name in ("later", "tree"))]
        return self.place.config(session_id.split("-")[0], script=script, rules=rules, tools=tools)

    def check(self, peer: Peer) -> int:
        """Holds everything that was acknowledged since the last time against the journals; how much that was."""
        damaged = {one["sessionId"]: one["reason"] for one in peer.request("agents/sessions")["damaged"]}
        assert {one: why for one, why in damaged.items() if one in self.known} == {}
        fresh, self.checked = self.told[self.checked :], len(self.told)
        ran = Counter(self.place.count.read_text().split()) if self.place.count.exists() else Counter()
        assert [x for x, times in ran.items() if times > 1] == [], "a tool ran twice"
        for session_id in {one.session_id for one in fresh}:
            peer.request("agents/get", sessionId=session_id)
            lines = e2e_journal.read(self.place.journal(session_id))
            before, self.known[session_id] = self.known[session_id], b"".join(line.raw for line in lines)
            assert self.known[session_id].startswith(before), f"the journal of {session_id} changed"
            _check_calls(lines, ran)
            _check_told([one for one in fresh if one.session_id == session_id], lines)
        return len(fresh)

    def nothing_is_left(self) -> None:
        until(lambda: not alive(self.mark), "for the tools' processes to go")


class Client:
    """Has sessions of its own, and sends to those of others, too."""

    def __init__(self, bench: Bench, name: str, seed: str, sessions: int) -> None:
        self.bench = bench
        self.name = name
        self.chance = Random(seed)
        self.sessions: list[str] = []
        self._most = sessions
        self._started = 0
        self._inputs = 0
        self._talk: Background | None = None

    def begin(self) -> None:
        """Talks to the daemon that runs, until it is gone or the bench halts."""
        self._talk = Background(self._work, self.name)

    def join(self) -> None:
        assert self._talk is not None
        self._talk.join()

    def settle(self, peer: Peer) -> None:
        """Nothing of its sessions runs any more."""
        for session_id in self.sessions:
            until(lambda session_id=session_id: self._rests(peer, session_id), f"for {session_id} to rest")

    def _rests(self, peer: Peer, session_id: str) -> bool:
        running = [call for call in self._view(peer, session_id)["pending"] if call["kind"] == "running"]
        try:
            # a session that has failed shows calls as running that are not
            if running and not peer.request("agents/reopen", sessionId=session_id)["applied"]:
                peer.request("agents/complete", token=running[0]["token"], outcome={"kind": "cancel"})
        except Refusal as refused:
            assert refused.kind in HARMLESS, refused
        return not running

    def _work(self) -> None:
        try:
            with self.bench.place.peer(self.name, start=False) as peer:
                while not self.bench.halt.is_set():
                    self._act(peer)
        except (Gone, NoDaemon, OSError):
            return

    def _act(self, peer: Peer) -> None:
        if len(self.sessions) < self._most:
            self._start(peer)
            return
        session_id = self.chance.choice(self.sessions)
        try:
            self._move(peer, session_id, self._view(peer, session_id))
        except Refusal as refused:
            self._refused(peer, session_id, refused)

    def _start(self, peer: Peer) -> None:
        self._started += 1
        session_id = f"{self.name}-{self._started}"
        script = [_entry(session_id, number, self.chance) for number in range(ENTRIES)]
        config = self.bench.config(session_id, script)
        try:
            session = peer.request(
                "agents/start", config=config, prompt="go", cwd=str(self.bench.place.work), sessionId=session_id
            )
        except Refusal as refused:
            assert refused.kind == "record/failed", refused
            return
        self.bench.known[session_id] = b""
        self._tell(session_id, "revision", session)
        self.sessions.append(session_id)

    def _view(self, peer: Peer, session_id: str) -> Any:
        return peer.request("agents/get", sessionId=session_id)["session"]

    def _move(self, peer: Peer, session_id: str, session: Any) -> None:
        if session["pending"] and self.chance.random() < 0.9:
            self._answer(peer, session_id, self.chance.choice(session["pending"]))
        elif session["state"] == "completed" or self.chance.random() < 0.1:
            self._send(peer, session_id)
        elif self.chance.random() < 0.08:
            self._cancel(peer, session_id)
        else:
            self._tell(session_id, "revision", peer.request("agents/step", sessionId=session_id)["session"])

    def _send(self, peer: Peer, session_id: str) -> None:
        self._inputs += 1
        key = f"{self.name}-i{self._inputs}"
        delivery = self.chance.choice(["turn", "queue", "interrupt"])
        text = "more" if self.chance.random() < 0.95 else "m" * 40_000
        sent = peer.request("agents/send", sessionId=session_id, prompt=text, inputId=key, delivery=delivery)
        self._tell(session_id, "input", sent["session"], key)

    def _cancel(self, peer: Peer, session_id: str) -> None:
        step = peer.start("agents/step", sessionId=session_id)
        cancelled = peer.request("agents/cancel", sessionId=session_id)
        self._tell(session_id, "revision", cancelled["session"])
        self._tell(session_id, "revision", peer.answer(step)["session"])

    def _answer(self, peer: Peer, session_id: str, call: Any) -> None:
        match call["kind"]:
            case "approval" if self.chance.random() < 0.8:
                more: Value = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
            case "approval":
                more = {"outcome": {"kind": "deny", "message": "no"}}
            case "running" if call["tool"] == "tree":
                more = {"outcome": {"kind": "cancel"}}
            case "running":
                peer.request("agents/reopen", sessionId=session_id)  # shown as it was when a write failed
                return
            case _:
                more = {"outcome": {"kind": "result", "content": "from outside"}}
        done = peer.request("agents/complete", token=call["token"], **more)
        if done["applied"]:
            self._tell(session_id, "answer", done["session"], f"{call['token']}:{more['outcome']['kind']}")

    def _refused(self, peer: Peer, session_id: str, refused: Refusal) -> None:
        if refused.kind.startswith("model/"):  # its script has ended
            self.sessions.remove(session_id)
            return
        assert refused.kind in HARMLESS, refused
        if refused.kind == "record/failed":
            assert refused.data["errnoName"] in ("EIO", "ENOSPC"), refused.data
            try:
                self._tell(session_id, "revision", peer.request("agents/reopen", sessionId=session_id)["session"])
            except Refusal as again:
                assert again.kind in ("record/failed", "session/damaged"), again

    def _tell(self, session_id: str, kind: Any, session: Any, key: str = "") -> None:
        self.bench.told.append(Told(session_id, kind, session["revision"], key))


def _entry(session_id: str, number: int, chance: Random) -> Value:
    """What the model says at its try of that number."""
    more = {"delayMs": chance.choice([0, 0, 0, 5])}
    if chance.random() < 0.4:
        return says("done") | more
    names = chance.choices([*WRITERS, "ext"], [8, 4, 3, 1, 1, 2], k=chance.choice([1, 1, 2, 3]))
    return calls(*((name, {"x": f"{session_id}.{number}.{at}"}) for at, name in enumerate(names))) | more


def _check_calls(lines: list[e2e_journal.Line], ran: Counter[str]) -> None:
    """A tool ran if it ended well, and did not without the record that it had started."""
    asked = {call["callId"]: call for line in lines if line.type == "candidate" for call in line.data.get("calls", ())}
    started = [line.data["callId"] for line in lines if line.type == "call-started"]
    ended = [line.data for line in lines if line.type == "call-finished"]
    assert len(set(started)) == len(started), "a call started twice"
    assert len({one["callId"] for one in ended}) == len(ended), "a call ended twice"
    well = {one["callId"] for one in ended if one["outcome"] == "completed"}
    for call_id, call in asked.items():
        if call["tool"] in WRITERS:
            times = ran[json.loads(call["arguments"])["x"]]
            assert times <= (call_id in started), f"{call_id} ran without a record"
            assert times == 1 or call_id not in well, f"{call_id} ended well and never ran"


def _check_told(told: list[Told], lines: list[e2e_journal.Line]) -> None:
    """Every acknowledged thing is in the journal, once."""
    inputs = Counter(line.data["inputId"] for line in lines if line.type == "input")
    queued = Counter(line.data["inputId"] for line in lines if line.type == "input-queued")
    tokens = {line.data["callId"]: line.data["token"] for line in lines if line.type == "call-decided"}
    resolved = [line.data for line in lines if line.type == "call-resolved"]
    answers = Counter(f"{tokens[one['callId']]}:{one['outcome']['kind']}" for one in resolved)
    ends = {line.record["last"] for line in lines}
    for one in told:
        assert one.revision in ends, f"{one}: the journal of {len(lines)} records has no write that ends there"
        match one.kind:
            case "input":
                assert (max(inputs[one.key], queued[one.key]), inputs[one.key] <= 1) == (1, True), one
            case "answer":
                assert answers[one.key] == 1, one
            case "revision":
                continue
