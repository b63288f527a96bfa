"""The first turn of a session on a simulated daemon, disturbed at one point of it, and what is true of it afterwards.

The turn has all that takes time: a model that streams, tools that run side by side, one in the background, one that
asks a person and one that a person approves, a second model call, and the disk at each step. A point is a number of
callbacks of the loop.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.e2e_journal import Line, read
from support.harness.running import memory
from support.simulation.acts import decided
from support.simulation.guard import nothing_real
from support.simulation.running import Simulation
from support.simulation.story import ModelDoes, Story, ToolDoes

from abey.core.call import FINAL_STATES, Call
from abey.core.completing import pending_kind
from abey.core.finding import holds_input
from abey.core.hashes import shown_hash
from abey.core.session import Session

NAME = "s"
SOON_SECONDS = 2.0
GRACE_SECONDS = 1.0
"""As the agents of a simulation have it."""
INPUT_ENDS = ("input/committed", "input/withdrawn", "input/rejected", "input/stopped")
NEVER_SECONDS = 60.0
"""In which a whole turn comes to its end."""
REST_SECONDS = 12.0
"""After which whatever was begun has ended, whoever ignores its abort."""


def first_turn(*, deaf: bool) -> Story:
    """What models and tools do, one after the other; after the turn all of it takes no time."""
    calls = (("c1", "run", "{}"), ("c2", "run", "{}"), ("c3", "bg", "{}"), ("c4", "ask", "{}"))
    asks = ModelDoes(calls, 3.0, deaf=deaf, text="the first answer")
    models = asks, ModelDoes((), 3.0, deaf=deaf, text="the second answer"), *[ModelDoes()] * 20
    ways = ("prints", 4.0), ("asks", 2.0), ("ok", 9.0), ("ok", 4.0)
    return Story(1, models, tuple(ToolDoes(seconds, how, deaf) for how, seconds in ways), ())


@dataclass
class Turn:
    """`driver` waits for its run, `watcher` hears of it and answers what is asked, `other` sends more."""

    simulation: Simulation
    begun: int = 0
    answered: set[str] = field(default_factory=set)
    idle_tasks: int = 0
    first: str = ""
    is_over: bool = False
    late: dict[str, str] = field(default_factory=dict)
    _looked_at: Session | None = None
    _waiting: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.driver, self.watcher, self.other = self.simulation.clients

    @property
    def loop(self) -> Any:
        return self.simulation.life.loop

    @property
    def agent_file(self) -> str:
        return str(self.simulation.agents_at / "a.json")

    @property
    def session(self) -> Session:
        (live,) = self.simulation.life.sessions.loaded
        return live.machine.session

    def begin(self) -> None:
        start = {"agentFile": self.agent_file, "cwd": "/", "prompt": "go"}
        self.request("agents/start", **start)
        self.request("agents/attach", deltas=True)
        self.simulation.life.reads = False
        self.first = self.session.turns[0].turn_id
        self.simulation.pass_time(REST_SECONDS)
        self.idle_tasks = self.tasks()
        self.begun = self.loop.turns
        self.say(self.driver, "agents/run", until="yield")

    def request(self, method: str, **params: Any) -> Any:
        """What the watcher is answered: the result, or the error."""
        answer = self.simulation.answer(self.watcher, method, NAME, params)
        return answer.get("result") or answer["error"]

    def say(self, client: Any, method: str, **params: Any) -> int:
        """Asked, and not waited for."""
        asked: list[int] = []
        subject = params.get("inputId", "")
        params = params if method in ("agents/complete", "agents/seed") else {"sessionId": NAME, **params}
        self.simulation.ask(client, lambda: asked.append(client.ask(method, params, NAME, subject)))
        return asked[0]

    def send(self, name: str, delivery: str) -> None:
        """Another client says something."""
        self.say(self.other, "agents/send", prompt=name, inputId=name, delivery=delivery)

    def seed(self) -> None:
        """The session, which was stopped, begins anew; afterwards it has."""
        seed = {"id": NAME, "transcript": []}
        self.say(self.watcher, "agents/seed", seed=seed, agentFile=self.agent_file, cwd="/")
        assert self.simulation.pass_time(SOON_SECONDS, lambda: not self.session.stopped)

    def holds(self, name: str) -> bool:
        """Whether the first turn has that input."""
        return holds_input(self.session.turns[0], name)

    def met_idle(self, name: str) -> bool:
        """Whether all calls had their results when that input came, and the model was not asked yet."""
        lines = self._lines()
        at = next(place for place, line in enumerate(lines) if json.dumps(name) in json.dumps(line.data))
        return lines[at - 1].type == "tool-results"

    def leave(self) -> None:
        """The client goes that waits for the run."""
        self.simulation.life.within(self.driver.leave)

    @property
    def ends(self) -> list[str | None]:
        """How the turns have ended."""
        return [one.end for one in self.session.turns]

    def go_on(self, until: Callable[[], bool], seconds: float = NEVER_SECONDS) -> bool:
        """People answer what they are asked, and run what nobody runs; whether it came about."""
        end = self.loop.time() + seconds
        while not until():
            left = end - self.loop.time()
            if not self.simulation.pass_time(left, lambda: until() or self.asked() is not None or self.rests()):
                return False
            call = self.asked()
            if until():
                break
            if call is not None:
                self.tell(call)
            else:
                self.say(self.watcher, "agents/run", until="yield")
        return True

    def rest(self) -> None:
        """Whoever is still busy comes to an end."""
        self.go_on(lambda: False, REST_SECONDS)

    def asked(self) -> Call | None:
        if self.session is not self._looked_at:
            self._looked_at = self.session
            self._waiting = [one for one in decided(self.session) if pending_kind(one) in ("question", "approval")]
        return next((one for one in self._waiting if one.verdict and one.verdict.token not in self.answered), None)

    def tell(self, call: Call) -> None:
        """The answer that is wanted, of somebody who wants the turn to go on."""
        assert call.verdict is not None
        self.answered.add(call.verdict.token)
        question = pending_kind(call) == "question"
        outcome = {"kind": "answer", "value": True} if question else {"kind": "approve"}
        bound = {} if question else {"argumentsHash": shown_hash(self.session, call)}
        token = call.verdict.token
        self.say(self.watcher, "agents/complete", token=token, outcome=outcome, resume=True, wait=False, **bound)

    def rests(self) -> bool:
        """Whether a model has to be asked, and nobody has said so."""
        (live,) = self.simulation.life.sessions.loaded
        if live.machine.work.run is not None:
            return False
        asked = any(method == "agents/run" for one in self.simulation.clients for method, _, _ in one.open.values())
        return live.machine.session.state == "userTurn" and not asked

    def over(self) -> bool:
        """Whether the watcher knows that the first turn has ended. Who is still busy then is late."""
        if not any(one["event"]["type"] == "turn/completed" for one in self.watcher.heard):
            return False
        if not self.is_over:
            self.is_over, self.late = True, dict(self.simulation.actors.busy)
        return True

    def answered_again(self) -> bool:
        """Whether a turn after the first one was answered; that the first one is over was known before."""
        last = self.session.turns[-1]
        return self.over() and last.turn_id != self.first and last.end == "answered"

    def advance(self, callbacks: int) -> None:
        """To so many callbacks after the beginning of the run."""
        self.go_on(lambda: self.loop.turns >= self.begun + callbacks)

    def tasks(self) -> int:
        return sum(not task.done() for task in self.loop._tasks)

    def faults(self) -> Iterator[str]:
        """What is broken, once the next turn was answered and time has passed."""
        yield from self._order()
        yield from self._late()
        yield from self._calls()
        yield from self._inputs()
        yield from self._left()

    def _order(self) -> Iterator[str]:
        heard = self.watcher.heard
        ends = [at for at, one in enumerate(heard) if one["event"]["type"] == "turn/completed" and self._of_first(one)]
        if len(ends) != 1:
            yield f"the first turn has ended {len(ends)} times"
        items = {one["event"]["item"]["itemId"] for one in heard if "item" in one["event"] and self._of_first(one)}
        for one in heard[ends[0] + 1 :] if ends else ():
            if self._of_first(one) or one["event"].get("itemId") in items:
                yield f"after the end of the first turn: {one['event']}"

    def _of_first(self, event: Any) -> bool:
        return bool(event.get("turnId") == self.first)

    def _late(self) -> Iterator[str]:
        """What comes late is announced, and nowhere else."""
        events = [one["event"] for one in self.watcher.heard]
        stale = [one["invocationId"] for one in events if one["type"] == "stale-result"]
        models = [name for name in self.late if name.startswith("model")]
        if missed := [name for name in self.late if name not in stale and name not in models]:
            yield f"nobody is told that {missed} came late"
        if len(stale) != len(set(stale)) or len(stale) < len(self.late):
            yield f"{list(self.late)} came late, and {stale} is told"
        shown = json.dumps(self.request("agents/transcript"))
        lines = self._lines()
        finished = [line.data.get("invocationId") for line in lines if line.type in ("call-finished", "candidate")]
        yield from (f"{words} came late, and is shown" for words in self.late.values() if words in shown)
        yield from (f"{one} came late, and is recorded" for one in stale if one in finished)

    def _calls(self) -> Iterator[str]:
        lines = self._lines()
        finished = [line.data["callId"] for line in lines if line.type == "call-finished"]
        if len(finished) != len(set(finished)):
            yield f"a call has two results: {finished}"
        states = {call.call_id: call.state for call in decided(self.session)}
        if open_ones := {name: state for name, state in states.items() if state not in FINAL_STATES}:
            yield f"calls are open: {open_ones}"

    def _inputs(self) -> Iterator[str]:
        """Each that was accepted has one end, in the journal and for who listens."""
        accepted = [one.subject for one in self.other.operations if one.outcome == "ok" and one.subject]
        events = [one["event"] for one in self.watcher.heard if one["event"]["type"] in INPUT_ENDS]
        for name in accepted:
            ends = [one["type"] for one in events if one["inputId"] == name]
            if len(ends) != 1:
                yield f"the input {name} has the ends {ends}"

    def _left(self) -> Iterator[str]:
        """Of all that was begun nothing is left."""
        (live,) = self.simulation.life.sessions.loaded
        work = live.machine.work
        left = [*work.live, *work.promised, *work.requests, *live.tasks, *live.questions, *self.simulation.actors.busy]
        if left or work.run is not None or work.closing is not None:
            yield f"left are {left}, {work.run}, {work.closing}"
        if open_ones := [method for one in self.simulation.clients for method, _, _ in one.open.values()]:
            yield f"nobody answers {open_ones}"
        if self.tasks() != self.idle_tasks:
            yield f"there are {self.tasks()} tasks, and were {self.idle_tasks}"

    def _lines(self) -> list[Line]:
        return read(self.simulation.root / "state" / "sessions" / NAME / "journal.jsonl")


@contextmanager
def turn(*, deaf: bool) -> Iterator[Turn]:
    with TemporaryDirectory(dir=memory(), prefix="abey-sim-") as made, nothing_real():
        simulation = Simulation(first_turn(deaf=deaf), Path(made))
        try:
            with simulation.listening():
                begun = Turn(simulation)
                begun.begin()
                yield begun
        finally:
            simulation.end()


def callbacks_of_a_turn() -> int:
    """Of one that nobody disturbs."""
    with turn(deaf=False) as undisturbed:
        assert undisturbed.go_on(undisturbed.over)
        assert undisturbed.ends == ["answered"]
        return int(undisturbed.loop.turns - undisturbed.begun)
