"""What clients ask for in a simulation: each step of a story as a request, chosen among what there is at the moment."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from support.simulation.clients import Client
from support.simulation.story import Step

from abey.core.call import Call
from abey.core.completing import LEGAL, pending_kind
from abey.core.hashes import shown_hash
from abey.core.session import AnswerEntry, Session

T = TypeVar("T")

DELIVERIES = ("turn", "queue", "interrupt")
RUNS = ("none", "step", "turn", "turn")
OUTCOMES: dict[str, dict[str, Any]] = {
    "approve": {"kind": "approve"},
    "deny": {"kind": "deny", "message": "no"},
    "result": {"kind": "result", "content": {"b": 1}},
    "error": {"kind": "error", "message": "bad"},
    "answer": {"kind": "answer", "value": True},
    "cancel": {"kind": "cancel"},
    "rerun": {"kind": "rerun"},
}
NONSENSE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("agents/step", {"sessionId": "nobody"}),
    ("agents/complete", {"token": "0" * 32, "outcome": {"kind": "cancel"}}),
    ("agents/send", {"sessionId": 3}),
    ("agents/start", {"agent": "nobody"}),
    ("agents/nothing", {}),
)


@dataclass
class Acts:
    """`ids` are the sessions that clients have asked for, or were told of; the numbers of a step choose among them.
    `there` are those that this daemon has had in memory, by id, as they are: of them a step knows what would make
    sense, and mostly asks it."""

    agents: Path
    ids: list[str] = field(default_factory=list)
    inputs: list[tuple[str, str]] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    made: int = 0
    there: dict[str, Session] = field(default_factory=dict)

    def act(self, client: Client, step: Step, there: dict[str, Session]) -> None:
        self.there = there
        plain = PLAIN.get(step.what)
        if step.what == "start":
            self._start(client, step)
        elif step.what == "again":
            if client.last is not None and (client.last[2].key or client.last[2].subject):
                client.ask_again(*client.last)
        elif step.what == "nonsense":
            client.ask(*pick(NONSENSE, step.one))
        elif step.what == "complete":
            self._complete(client, step)
        elif step.what == "send":
            self._send(client, step)
        elif plain is not None and self.ids:
            session_id = pick(self.ids, step.one)
            method, more = plain(self, session_id, step, client)
            params = {key: value for key, value in more.items() if value is not None}
            key = self._key(client, step) if step.keyed and method in KEYED else ""
            client.ask(method, params, str(params.get("sessionId", "")), key=key)

    def _start(self, client: Client, step: Step) -> None:
        self.made += 1
        session_id = f"s{self.made}"
        self.ids.append(session_id)
        params: dict[str, Any] = {"sessionId": session_id, "agentFile": str(self.agents / "a.json"), "cwd": "/"}
        params |= {"run": pick(RUNS, step.one), "wait": step.two % 3 > 0}
        if step.two % 4:
            params["prompt"] = "begin"
        client.ask("agents/start", params, session_id, key=self._key(client, step) if step.keyed else "")

    def _send(self, client: Client, step: Step) -> None:
        if not self.ids:
            return
        self.made += 1
        session_id, subject = pick(self.ids, step.one), f"i{self.made}"
        self.inputs.append((session_id, subject))
        params = {"sessionId": session_id, "prompt": subject, "inputId": subject}
        params |= {"delivery": pick(DELIVERIES, step.two), "run": pick(RUNS, step.one + step.two)}
        key = self._key(client, step) if step.keyed else ""
        client.ask("agents/send", {**params, "wait": step.two % 2 > 0}, session_id, subject, key)

    def _complete(self, client: Client, step: Step) -> None:
        """Mostly a legal answer to a call that waits; else any, to any call."""
        known = sorted(self.there.values(), key=lambda one: one.id)
        calls = [(one, call) for one in known for call in decided(one)]
        waiting = [(session, call) for session, call in calls if pending_kind(call)] or calls
        if not waiting:
            return
        session, call = pick(waiting if step.two % 8 else calls, step.one)
        kind = pending_kind(call)
        names = sorted(LEGAL[kind]) if kind and step.two % 5 else list(OUTCOMES)
        assert call.verdict is not None
        params: dict[str, Any] = {"token": call.verdict.token, "outcome": OUTCOMES[pick(names, step.two)]}
        params["argumentsHash"] = shown_hash(session, call) if step.one % 9 else "0" * 64
        key = self._key(client, step) if step.keyed else ""
        params |= {"resume": step.two % 2 > 0, "wait": step.one % 3 > 0}
        client.ask("agents/complete", params, session.id, call.verdict.token, key)

    def quiet(self, session_id: str, step: Step) -> int:
        """A revision, mostly one that the session can go back to."""
        there = self.there.get(session_id)
        if there is None or step.two % 5 == 0:
            return 1 + step.two % 20
        entries = (entry for turn in there.turns for entry in turn.entries)
        rests = [entry.revision for entry in entries if isinstance(entry, AnswerEntry)]
        rests += [turn.ended_rev for turn in there.turns if turn.ended_rev is not None]
        return pick(rests, step.one) if rests and step.two % 5 < 4 else 1 + step.one % there.revision

    def _key(self, client: Client, _: Step) -> str:
        self.made += 1
        return f"{client.name}-k{self.made}"


def decided(session: Session) -> list[Call]:
    answers = (entry for turn in session.turns for entry in turn.entries if isinstance(entry, AnswerEntry))
    return [call for answer in answers for call in answer.calls if call.verdict is not None]


def pick(some: Iterable[T], number: int) -> T:
    every = list(some)
    return every[number % len(every)]


Request = tuple[str, dict[str, Any]]
Plain = Callable[[Acts, str, Step, Client], Request]


def on(method: str, *more: tuple[str, Callable[[Step], Any]]) -> Plain:
    """A request about a session, with params that the step chooses."""
    return lambda _, named, step, __: (method, {"sessionId": named, **{name: of(step) for name, of in more}})


def _withdraw(acts: Acts, session_id: str, step: Step, _: Client) -> Request:
    mine = [(owner, input_id) for owner, input_id in acts.inputs if owner == session_id] or [(session_id, "none")]
    waiting = [(one.id, queued.input_id) for one in acts.there.values() for queued in one.queue]
    owner, input_id = pick(waiting if waiting and step.two % 4 else mine, step.one + step.two)
    return "agents/withdraw", {"sessionId": owner, "inputId": input_id}


def _attach(_: Acts, session_id: str, step: Step, client: Client) -> Request:
    after = client.known.get(session_id) if step.two % 4 else None
    return "agents/attach", {"sessionId": session_id, "after": after}


def _fork(acts: Acts, session_id: str, step: Step, _: Client) -> Request:
    acts.made += 1
    acts.ids.append(f"f{acts.made}")
    return "agents/fork", {"sessionId": session_id, "at": acts.quiet(session_id, step) if step.two % 2 else None}


def _rewind(acts: Acts, session_id: str, step: Step, _: Client) -> Request:
    return "agents/rewind", {"sessionId": session_id, "to": acts.quiet(session_id, step)}


def _seed(acts: Acts, session_id: str, step: Step, _: Client) -> Request:
    acts.made += 1
    over = sorted(one.id for one in acts.there.values() if one.stopped)
    again = over if over and step.two % 3 else [session_id] if step.two % 3 == 0 else []
    named = pick(again, step.one) if again and session_id not in acts.deleted else f"d{acts.made}"
    acts.ids.append(named)
    message = {"kind": "user", "parts": [{"kind": "text", "text": "from elsewhere"}]}
    seed = {"id": named, "turnCount": 1, "revision": step.two % 50, "transcript": [message] if step.two % 2 else []}
    return "agents/seed", {"seed": seed, "agentFile": str(acts.agents / "a.json"), "cwd": "/"}


def _delete(acts: Acts, session_id: str, _: Step, __: Client) -> Request:
    acts.deleted.add(session_id)
    return "agents/delete", {"sessionId": session_id}


def _rules(_: Acts, session_id: str, step: Step, __: Client) -> Request:
    disposition = pick(("runSync", "runAsync", "deny"), step.two)
    rule = {"tool": pick(("ask", "run", "bg"), step.one), "disposition": disposition, "scope": "session"}
    return "agents/rules", {"action": "add", "sessionId": session_id, "rule": rule}


def _until(step: Step) -> str:
    return "turn" if step.two % 3 == 0 else "yield"


def _waits(step: Step) -> bool:
    return step.two % 2 > 0


RUN = (("until", _until), ("wait", _waits), ("synchronous", lambda step: step.one % 11 == 0))
PLAIN: dict[str, Plain] = {
    "step": on("agents/step"),
    "run": on("agents/run", *RUN),
    "resume": on("agents/resume", *RUN),
    "pause": on("agents/pause"),
    "cancel": on("agents/cancel", ("turnId", lambda step: None if step.two % 4 else "another")),
    "stop": on("agents/stop"),
    "attach": _attach,
    "detach": on("agents/detach"),
    "events": on("agents/events", ("after", lambda step: step.two % 9), ("waitMs", lambda step: step.two % 500)),
    "get": on("agents/get"),
    "transcript": on("agents/transcript"),
    "sessions": lambda *_: ("agents/sessions", {}),
    "pending": lambda *_: ("agents/pending", {}),
    "withdraw": _withdraw,
    "continue": on("agents/continue", ("run", lambda step: pick(RUNS, step.two)), ("wait", _waits)),
    "fork": _fork,
    "rewind": _rewind,
    "seed": _seed,
    "record": on("agents/record"),
    "rules": _rules,
    "delete": _delete,
    "restore": on("agents/restore"),
    "reopen": on("agents/reopen"),
    "update": on("agents/update", ("title", lambda step: f"title {step.two}")),
    "status": lambda *_: ("agents/status", {}),
    "isolate": on("agents/runIsolated"),
}
KEYED = {
    f"agents/{name}"
    for name in (
        "step",
        "run",
        "resume",
        "pause",
        "cancel",
        "stop",
        "withdraw",
        "continue",
        "rewind",
        "rules",
        "update",
    )
}
