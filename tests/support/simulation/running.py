"""Runs a story against the whole daemon minus its sockets, and says which promise it broke, if it broke one."""

import errno
import gc
import hashlib
import itertools
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from support.e2e_journal import Line, read
from support.harness.running import memory
from support.jepsen.checker import violations
from support.jepsen.history import Ended, History, Journal
from support.jepsen.journals import read_journal
from support.simulation.actors import Actors, agents
from support.simulation.acts import Acts
from support.simulation.clients import Client
from support.simulation.disk import SimulatedDisk
from support.simulation.guard import nothing_real
from support.simulation.life import Life
from support.simulation.loop import Died
from support.simulation.records import faults_in, unfinal
from support.simulation.story import CLIENTS, Step, Story

from abey.daemon.app import DRAIN_SECONDS
from abey.errors import DaemonGone
from abey.extensions import LateMutation
from abey.runtime.store.scan import scan

LAST_WORDS = 60.0
"""Seconds in which everything ends that was asked for, once everybody answers at once."""


class Broken(Exception):
    """A promise, in a sentence."""


@dataclass(frozen=True, slots=True)
class Found:
    """`broken` is None where every promise held; `trace` is what happened, in lines, and `digest` a hash of it."""

    broken: str | None
    trace: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def run(story: Story) -> Found:
    with tempfile.TemporaryDirectory(dir=memory(), prefix="abey-sim-") as made, nothing_real(), not_collecting():
        simulation = Simulation(story, Path(made))
        try:
            with simulation.listening():
                simulation.play()
            broken = None
        except Broken as found:
            broken = str(found)
        finally:
            simulation.end()
        clean = [line.replace(made, "") for line in simulation.trace]
        return Found(broken and broken.replace(made, ""), tuple(clean))


@contextmanager
def not_collecting() -> Iterator[None]:
    """When the collector comes by is not in the story, and what it frees leaves memory."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass
class Simulation:
    story: Story
    made: Path
    trace: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    restarts: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(f"{self.story.seed}")
        self.root = self.made / "root"
        self.agents_at = self.root / "config" / "agents"
        (self.root / "state").mkdir(parents=True)
        self.agents_at.mkdir(parents=True)
        self.version = 1
        self.save_agents()
        self.ticks = itertools.count(1)
        self.acts = Acts(self.agents_at)
        self.actors = Actors(self.story, Random(f"{self.story.seed} world"), self._durable, self.tell)
        self.clients = [self._client(f"p{number}") for number in range(CLIENTS)]
        self.life = self._begin(0.0)

    def _client(self, name: str) -> Client:
        return Client(name, lambda: float(next(self.ticks)), self.tell)

    def tell(self, line: str) -> None:
        self.trace.append(f"{self.life.loop.time():9.3f} {line}" if hasattr(self, "life") else line)

    def save_agents(self) -> None:
        """Their times are old, so that no look at them depends on when that is."""
        for name, value in agents(self.version, typed=self.story.typed).items():
            path = self.agents_at / f"{name}.json"
            path.write_text(json.dumps(value))
            stamp = 1_700_000_000 + self.version
            os.utime(path, (stamp, stamp))

    def _durable(self, session_id: str) -> bytes:
        return self.life.disk.synced(self.root / "state" / "sessions" / session_id / "journal.jsonl")

    def _begin(self, now: float) -> Life:
        disk = SimulatedDisk(self.root, Random(f"{self.story.seed} disk {self.restarts}"))
        disk.told = self.tell
        chance = Random(f"{self.story.seed} loop {self.restarts}")
        return Life.begin(self.root, disk, chance, now, self.actors, self.story)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Errors that the daemon logs with a traceback are none that it may have."""
        handler = Collector(self.errors)
        logger = logging.getLogger("abey")
        level, propagates = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.ERROR)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagates

    def play(self) -> None:
        for step in self.story.steps:
            self.pass_time(step.wait)
            self.act(step)
        self.pass_time(1.0)
        self.last_words()
        self.judge()

    def pass_time(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        life = self.life
        life.loop.after = self.look
        end = life.loop.time() + seconds
        reached = life.loop.advance(lambda: until() or life.stopping, seconds)
        self.look()
        if life.dead:
            self.tell("the daemon is dead")
            self.restart(power=self.chance.random() < 0.5)
        elif life.stopping:
            self.close()
        if self.life is not life and end > self.life.loop.time():
            return self.pass_time(end - self.life.loop.time(), until)
        return reached

    def look(self) -> None:
        """After each callback."""
        for session_id in self.life.left():
            self.tell(f"{session_id} leaves memory")
        broken = [*self.life.look(), *self.actors.broken, *self.errors, *self.life.loop.faults]
        broken += [fault for client in self.clients for fault in client.broken]
        if broken:
            raise Broken(broken[0])

    def act(self, step: Step) -> None:
        client, life = self.clients[step.who], self.life
        match step.what:
            case "kill":
                self._turns(step.one % 60)
                self.tell("the daemon is killed")
                self.restart(power=False)
            case "power loss":
                self._turns(step.one % 60)
                self.tell("the power is lost")
                self.restart(power=True)
            case "close":
                self.tell("the daemon is ended")
                self.close()
            case "die in a write":
                life.disk.die(step.one % 30)
            case "disk fails":
                life.disk.fail(step.one % 12, (errno.ENOSPC, errno.EIO)[step.two % 2])
            case "clock jumps":
                self.actors.skew += (step.one - 500) * 7.0
                self.tell(f"the clock jumps by {(step.one - 500) * 7} s")
            case "save agent":
                self.version += 1
                self.save_agents()
                self.tell(f"version {self.version} of the agents is saved")
            case "leave":
                self.tell(f"{client.name} leaves")
                life.within(client.leave)
            case "cancel request":
                life.within(client.cancel_last)
            case "shutdown":
                self.ask(client, lambda: client.ask("agents/shutdown", {"mode": ("drain", "now")[step.one % 2]}))
            case _:
                self.ask(client, lambda: self.acts.act(client, step, life.known))
        self.look()

    def _turns(self, number: int) -> None:
        """So many callbacks more."""
        last = self.life.loop.turns + number
        self.life.loop.after = self.look
        self.life.loop.advance(lambda: self.life.loop.turns >= last, 1.0)

    def ask(self, client: Client, work: Callable[[], Any]) -> None:
        def do() -> None:
            if not client.connected:
                client.connect(self.life.app.surface)
            work()

        self.life.within(do)

    def close(self) -> None:
        """As a daemon ends that was told to."""
        life = self.life
        life.disk.heal()
        try:
            life.loop.after = self.look
            life.loop.finish(life.app.close(), 600.0)
        except TimeoutError:
            raise Broken("the daemon was told to end, and does not") from None
        except Died:
            self.tell("the daemon dies while it ends")
        else:
            for client in self.clients:
                life.within(lambda client=client: client.end(DaemonGone("the daemon has ended")))
            life.loop.advance(lambda: False, 0.0)
            unanswered = [method for client in self.clients for method, _, _ in client.open.values()]
            if unanswered:
                raise Broken(f"the daemon has ended, and never answered {', '.join(unanswered)}")
        self.look()
        self.restart(power=False)

    def restart(self, *, power: bool) -> None:
        now = self.life.loop.time()
        before, told = self.life.remembered, len(self.errors)
        self.life.end()
        del self.errors[told:]  # what is torn from a dead daemon's hands says nothing of it
        for client in self.clients:
            client.lose()
        if power:
            self.life.disk.leave_power(self.chance)
            self.save_agents()
        self.restarts += 1
        self.tell("another daemon begins")
        self.life = self._begin(now)
        self.life.remembered = before

    def last_words(self) -> None:
        """Everybody answers well from now on: each session takes an input and ends its turn, and then each is stopped;
        afterwards no request is open, and nothing runs."""
        self.life.disk.heal()
        self.actors.calm = True
        self.pass_time(DRAIN_SECONDS + 1)  # who was told to end has ended, and another has begun
        client = self._client("last")
        self.clients.append(client)
        for session_id in self._on_disk():
            self._last_turn(client, session_id)
        for session_id in self._on_disk():
            self.answer(client, "agents/stop", session_id, {})
        if not self.pass_time(LAST_WORDS, lambda: not any(one.open for one in self.clients)):
            unanswered = [f"{one.name}'s {method}" for one in self.clients for method, _, _ in one.open.values()]
            raise Broken(f"everything is stopped, and nobody answers {', '.join(unanswered)}")
        running = [live.id for live in self.life.sessions.loaded if live.machine.work.live and live.failure is None]
        if running:
            raise Broken(f"everything is stopped, and something runs for {', '.join(running)}")

    def _on_disk(self) -> list[str]:
        return sorted(path.name for path in (self.root / "state" / "sessions").iterdir())

    def _last_turn(self, client: Client, session_id: str) -> None:
        shown = self.answer(client, "agents/get", session_id, {})
        if "error" in shown:
            if any(one.said and one.session_id == session_id for all in self.clients for one in all.operations):
                raise Broken(f"{session_id} was shown, and does not open any more: {shown['error']['message']}")
            return
        self.answer(client, "agents/reopen", session_id, {})
        for _ in range(len(self.acts.inputs) + 2):  # each input that is queued begins a turn
            answer = self.answer(client, "agents/cancel", session_id, {})
            if "error" in answer or not answer["result"]["applied"]:
                break
        self.answer(client, "agents/resume", session_id, {"wait": False})
        self.answer(client, "agents/cancel", session_id, {})
        if self.answer(client, "agents/get", session_id, {})["result"]["session"]["state"] == "stopped":
            return
        last = {"prompt": "the last", "inputId": f"last-{session_id}", "run": "turn"}
        answer = self.answer(client, "agents/send", session_id, last)
        if "error" in answer:
            raise Broken(f"{session_id} was cancelled and does not take another input: {answer['error']['message']}")
        state = answer["result"]["session"]["state"]
        if state != "completed":
            raise Broken(f"{session_id} took another input, everybody answered, and it is {state}")
        self.answer(client, "agents/attach", session_id, {"after": client.known.get(session_id)})

    def answer(self, client: Client, method: str, session_id: str, params: dict[str, Any]) -> Any:
        asked = [0]

        def ask() -> None:
            subject = params.get("inputId", "")
            asked[0] = client.ask(method, {"sessionId": session_id, **params}, session_id, subject)

        self.ask(client, ask)
        if not self.pass_time(LAST_WORDS, lambda: asked[0] in client.answers):
            raise Broken(f"{method} of {session_id} is not answered within {LAST_WORDS:g} s")
        return client.answers[asked[0]]

    def judge(self) -> None:
        """What was told holds against what is on the disk."""
        self.life.load_all()
        self.life.look_anew()
        self.look()
        for fault in self.life.look_back():
            raise Broken(fault)
        history = History()
        for client in self.clients:
            history.operations += client.operations
            history.notices[client.name] = client.notices
            history.strays += client.strays
        last = self.clients[-1]
        history.last = {(last.name, session_id): seq for session_id, seq in last.seen.items()}
        history.journals = self._journals(history)
        broken = violations(history)
        if broken:
            raise Broken(broken[0])

    def _journals(self, history: History) -> dict[str, Journal]:
        """Of what is there, and of what was deleted. What nobody was ever told of may be half made."""
        found: dict[str, Journal] = {}
        notices = [one for told in history.notices.values() for one in told]
        noticed = {one.session_id for one in notices if not isinstance(one, Ended)}
        shown = noticed | {one.session_id for one in history.operations if one.said}
        places = [*(self.root / "state" / "trash").glob("*"), *(self.root / "state" / "sessions").glob("*")]
        for place in sorted(places):
            path, deleted = place / "journal.jsonl", place.parent.name == "trash"
            session_id = place.name.partition(".")[0]
            if deleted and not any(place.iterdir()):
                continue  # what a failed making has left, put aside by the next one
            if session_id in shown:
                if deleted:  # nobody has opened it since, and what was torn is cut off only then
                    os.truncate(path, scan(path.read_bytes()).end.size)
                lines = read(path)
                faults = [f"{place.name}: {fault}" for fault in faults_in(lines, deleted=deleted)]
                if faults:
                    raise Broken(faults[0])
                found[session_id] = self._final(history, read_journal(path), lines)
        named = {one.session_id for one in (*notices, *history.operations)}
        return {**dict.fromkeys(named, Journal(())), **found}

    def _final(self, history: History, journal: Journal, lines: list[Line]) -> Journal:
        """The checker knows of resolutions that are the last word on their calls, and is shown no others."""
        revisions, asked = unfinal(lines)
        history.operations = [
            replace(one, method="answer") if one.method == "agents/complete" and one.subject in asked else one
            for one in history.operations
        ]
        records = (
            replace(one, token="") if one.rev in revisions or one.token in asked else one for one in journal.records
        )
        return replace(journal, records=tuple(records))

    def end(self) -> None:
        self.life.end()


class Collector(logging.Handler):
    """Collects records that have a traceback."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info and record.exc_info[1]
        meant = "of the simulation" in str(error) or isinstance(error, LateMutation)  # of a hook that was left alone
        if record.exc_info and not meant and "could not be disposed" not in record.getMessage():
            self._errors.append(f"the daemon logs {record.getMessage()}: {record.exc_info[1]!r}")
