"""Moments of a turn at which it can be ended, and the turn that is brought there, with the installed programs."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.e2e import Place, Value, calls, deferred, until
from support.e2e_peer import Peer
from support.mcp_desk import RAW

NEVER_MS = 600_000
SOON_SECONDS = 4.0
"""On a busy machine, too; what is not ended takes five, ten, or for ever."""
FINAL = ("completed", "failed", "denied", "cancelled", "expired")


@dataclass
class Turn:
    """The first turn of a session: `driver` waits for its run, and `watcher` hears of it."""

    place: Place
    watcher: Peer
    driver: Peer
    session_id: str = "s1"

    def begin(self, config: Value, run: str) -> None:
        cwd = str(self.place.work)
        self.watcher.request("agents/start", sessionId=self.session_id, config=config, cwd=cwd)
        self.watcher.request("agents/attach", sessionId=self.session_id, deltas=True)
        self.watcher.request("agents/send", sessionId=self.session_id, prompt="go")
        if run != "none":
            self.driver.start(f"agents/{run}", sessionId=self.session_id)

    def go_on(self) -> None:
        """Somebody runs what nobody does."""
        session = self.session()
        if session["activity"] == "idle":
            how = "resume" if session.get("paused") else "run"
            self.watcher.request(f"agents/{how}", sessionId=self.session_id, wait=False)

    def session(self, session_id: str | None = None) -> Any:
        return self.watcher.request("agents/get", sessionId=session_id or self.session_id)["session"]

    def pending(self, session_id: str | None = None) -> list[Value]:
        found: list[Value] = self.watcher.request("agents/pending", sessionId=session_id or self.session_id)["items"]
        return found

    def events(self) -> list[Value]:
        """All that the watcher was told of the session so far, in order."""
        self.session()
        told = [one for one in self.watcher.heard if one["method"] == "agents/event"]
        return [one["params"] for one in told if one["params"]["sessionId"] == self.session_id]

    def streamed(self) -> str:
        """The pieces of answers so far."""
        deltas = [one["event"] for one in self.events() if one["event"]["type"] == "item/delta"]
        return "".join(one["text"] for one in deltas)

    def said(self) -> str:
        """The last item of the transcript, in JSON."""
        return json.dumps(self.watcher.request("agents/transcript", sessionId=self.session_id)["items"][-1])

    def calls(self) -> list[Value]:
        items = self.watcher.request("agents/transcript", sessionId=self.session_id)["items"]
        return [item["call"] for item in items if "call" in item]

    def answer(self, call: Value, kind: str, **more: Any) -> Any:
        bound = {"argumentsHash": call["argumentsHash"]} if kind == "approve" else {}
        outcome = {"kind": kind, **more}
        return self.watcher.request("agents/complete", token=call["token"], outcome=outcome, **bound, wait=False)

    def waiting(self, kind: str, session_id: str | None = None) -> Any:
        return next((one for one in self.pending(session_id) if one["kind"] == kind), None)

    def processes(self) -> list[int]:
        """What runs in the session's folder."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _cwd(pid) == self.place.work]


def _cwd(pid: int) -> Path | None:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:  # it ended while we looked, or is not ours
        return None


@dataclass(frozen=True)
class Moment:
    """`script` is what the model says up to it, driven by a `run`, a `step` or nobody; `reached` brings the turn there,
    and is true once it is. `keeps` is how many processes the session keeps when the turn is over."""

    name: str
    script: tuple[Value, ...]
    reached: Callable[[Turn], Any]
    run: str = "run"
    rules: tuple[Value, ...] = ()
    tools: Callable[[Place], list[Value]] = Place.tools
    keeps: int = 0
    output_schema: Value | None = None


SLOW = calls(("slow", {}))


def ruled(tool: str, disposition: Any) -> Value:
    return {"tool": tool, "disposition": disposition}


def _server(*words: str, **more: Any) -> Callable[[Place], list[Value]]:
    entry = {"kind": "mcp", "name": "it", "command": [*RAW, *words], **more}
    return lambda place: [*place.tools(), entry]


def _child(*script: Value, rules: tuple[Value, ...] = ()) -> Callable[[Place], list[Value]]:
    def tools(place: Place) -> list[Value]:
        slug = f"kid-of-{place.work.name}"
        config = place.config(name=slug, script=script, rules=rules, description="a child")
        (place.agents / f"{slug}.json").write_text(json.dumps(config))
        return [*place.tools(), {"kind": "agent", "name": "kid", "agent": slug}]

    return tools


def _asks_the_model(turn: Turn) -> bool:
    return bool(turn.session()["activity"] == "model")


def _runs(turn: Turn, number: int = 1) -> bool:
    return turn.place.ran() >= number and bool(turn.processes())


def _child_of(turn: Turn) -> Any:
    """The child, once it can be asked about."""
    found = turn.session()["children"]
    return found[0] if found and turn.place.journal(found[0]).exists() else None


def _of_child(condition: Callable[[Turn, str], Any]) -> Callable[[Turn], Any]:
    def reached(turn: Turn) -> Any:
        child = _child_of(turn)
        return child and condition(turn, child)

    return reached


def _waits(kind: str) -> Callable[[Turn], Any]:
    return lambda turn: turn.waiting(kind) and turn.session()["activity"] == "idle"


def _approved(turn: Turn) -> bool:
    call = until(lambda: turn.waiting("approval"), "for the call that is approved")
    turn.answer(call, "approve")
    until(lambda: _runs(turn), "for the approved call")
    return True


def _approved_while_paused(turn: Turn) -> bool:
    call = until(lambda: turn.waiting("approval"), "for the call that is approved")
    turn.watcher.request("agents/pause", sessionId=turn.session_id)
    turn.answer(call, "approve")
    return [one["state"] for one in turn.calls()] == ["approved"]


def _one_answered(turn: Turn) -> bool:
    until(lambda: len(turn.pending()) == 3, "for three calls")
    turn.answer(turn.pending()[1], "deny")
    return len(turn.pending()) == 2


THREE = calls(("sh", {"command": "1"}), ("sh", {"command": "2"}), ("sh", {"command": "3"}))
RETRIES = {"tag": "decorate", "decorators": [{"tag": "retries", "count": 3}], "inner": "runSync"}
ISOLATED = {"tag": "runIsolated"}
MARK = "hangs"

MOMENTS = (
    Moment("before the request", (), lambda turn: turn.session()["state"] == "userTurn", run="none"),
    Moment("before the first token", ({"text": "x", "delayMs": NEVER_MS},), _asks_the_model),
    Moment(
        "in the thinking",
        ({"thinking": "hm hm", "text": "x", "chunkMs": NEVER_MS},),
        lambda turn: turn.streamed() == "hm",
    ),
    Moment("after the first token", ({"text": "a b", "chunkMs": NEVER_MS},), lambda turn: turn.streamed() == "a"),
    Moment("in the answer", ({"text": "word " * 5000, "chunkMs": 2},), lambda turn: len(turn.streamed()) > 60),
    Moment(
        "while it is asked again",
        ({"text": "no JSON"}, {"text": "x", "delayMs": NEVER_MS}),
        lambda turn: _asks_the_model(turn) and "asked again" in turn.said(),
        output_schema={"type": "string"},
    ),
    Moment(
        "between two tries",
        ({"error": {"code": "rate-limited", "retryAfterMs": 60_000}},),
        lambda turn: any(one["event"]["type"] == "note" for one in turn.events()),
    ),
    Moment("before the tools", (SLOW,), lambda turn: turn.session()["state"] == "llmTurn", run="step"),
    Moment("in a tool", (SLOW,), _runs),
    Moment("in a tool that is tried again", (SLOW,), _runs, rules=(ruled("slow", RETRIES),)),
    Moment(
        "when one of three tools has ended",
        (calls(("bump", {}), ("slow", {}), ("slow", {})),),
        lambda turn: _runs(turn, 3) and "completed" in [call["state"] for call in turn.calls()],
    ),
    Moment("with a tool in the background", (SLOW,), _runs, rules=(ruled("slow", "runAsync"),)),
    Moment("waiting for an approval", (SLOW,), _waits("approval"), rules=(deferred("slow"),)),
    Moment("waiting for others", (calls(("ext", {})),), _waits("external")),
    Moment("with one of three answered", (THREE,), _one_answered, rules=(deferred("sh"),)),
    Moment("in an approved call", (SLOW,), _approved, rules=(deferred("slow"),)),
    Moment("paused with an approved call", (SLOW,), _approved_while_paused, rules=(deferred("slow"),)),
    Moment(
        "isolated",
        (calls(("sh", {"command": "sleep 300"})),),
        lambda turn: turn.waiting("external") or [call["state"] for call in turn.calls()] == ["running"],
        rules=(ruled("sh", ISOLATED),),
    ),
    Moment(
        "while a server is asked for its tools",
        (),
        lambda turn: turn.session()["activity"] == "tools" and turn.processes(),
        tools=_server("mute", timeoutSeconds=3),
        keeps=1,
    ),
    Moment(
        "in a call of a server",
        (calls(("mcp_it_hang", {"mark": MARK})),),
        lambda turn: (turn.place.work / MARK).exists(),
        tools=_server(),
        keeps=1,
    ),
    Moment(
        "in a call of a server that does not leave",
        (calls(("mcp_it_hang", {"mark": MARK})),),
        lambda turn: (turn.place.work / MARK).exists(),
        tools=_server("stays"),
        keeps=1,
    ),
    Moment("with a question open", (calls(("mcp_it_ask", {})),), _waits("question"), tools=_server(), keeps=1),
    Moment(
        "in the model call of a child",
        (calls(("kid", {"prompt": "p"})),),
        _of_child(lambda turn, child: turn.session(child)["activity"] == "model"),
        tools=_child({"text": "x", "delayMs": NEVER_MS}),
    ),
    Moment("in a tool of a child", (calls(("kid", {"prompt": "p"})),), _runs, tools=_child(SLOW)),
    Moment(
        "while a child waits",
        (calls(("kid", {"prompt": "p"})),),
        _of_child(lambda turn, child: turn.waiting("approval", child)),
        tools=_child(SLOW, rules=(deferred("slow"),)),
    ),
)
