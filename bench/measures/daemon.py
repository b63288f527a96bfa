"""Steps through the daemon, over its socket and over pipes: processor time, and wall time beside the disk's own."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import work
from bench.client import Client
from bench.counting import weigh
from bench.figures import Figures
from bench.floors.disk import Appended, appended
from bench.machine import Machine
from bench.processes import cpu_seconds
from bench.sizes import Size

Session = dict[str, Any]


class Driver:
    """One client that makes turns; `seconds` and `syncs` are those of every step, `start` and `approve` by turns."""

    def __init__(self, machine: Machine, client: Client) -> None:
        self._machine = machine
        self._client = client
        self.seconds: list[float] = []
        self.syncs: list[int] = []

    def begin(self, config: work.Value | None = None) -> str:
        """A session without input; its id."""
        cwd = str(self._machine.work)
        made = self._client.request("agents/start", config=config or work.config(), cwd=cwd)
        return str(made["sessionId"])

    def start(self, session_id: str) -> Session:
        """The first step of a turn: the call that waits."""
        sent = self._timed("agents/send", sessionId=session_id, prompt=work.PROMPT, run="turn")
        [pending] = sent["session"]["pending"]
        return dict(pending)

    def approve(self, pending: Session) -> None:
        """The second step."""
        hashed, approval = pending["argumentsHash"], {"kind": "approve"}
        done = self._timed(
            "agents/complete", token=pending["token"], outcome=approval, argumentsHash=hashed, resume=True
        )
        assert done["session"]["output"] == work.FINAL, done

    def turn(self, session_id: str) -> None:
        self.approve(self.start(session_id))

    def _timed(self, method: str, **params: Any) -> Any:
        syncs, began = self._machine.syncs, time.perf_counter()
        result = self._client.request(method, **params)
        self.seconds.append(time.perf_counter() - began)
        self.syncs.append(self._machine.syncs - syncs)
        return result


@dataclass(frozen=True, slots=True)
class Driven:
    """Milliseconds: processor time of the daemon a step, and medians of a step, and of a step beyond its own syncs."""

    cpu: float
    step: float
    beyond: float


def measure(size: Size, folder: Path) -> Figures:
    figures: Figures = {}
    for turns in size.turns:
        machine = Machine(folder / f"{turns}")
        with machine.serving() as (process, client), appended(folder / "floor") as floor:
            driven = _drive(Driver(machine, client), process.pid, turns, floor)
        figures |= {f"cpu.daemon.{turns}": driven.cpu, f"step.socket.{turns}": driven.step}
        figures |= {"cpu.daemon": driven.cpu, "step.socket": driven.step, "step.socket.beyond": driven.beyond}
        figures |= {"fdatasync": median(floor.seconds) * 1000}
        weight = weigh(machine.state)
        figures["bytes.beside"] = weight.beside / weight.journals
    return {**figures, **_piped(size, folder), **_many(size, folder)}


def _piped(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "pipes")
    with machine.piped() as (process, client), appended(folder / "floor") as floor:
        driven = _drive(Driver(machine, client), process.pid, size.turns[-1], floor)
    return {"step.stdio": driven.step, "step.stdio.beyond": driven.beyond}


def _many(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "many")
    with machine.serving() as (process, client):
        driver = Driver(machine, client)
        sessions = [driver.begin() for _ in range(size.sessions)]
        began = cpu_seconds(process.pid)
        for _ in range(2):
            for session_id in sessions:
                driver.turn(session_id)
        spent = cpu_seconds(process.pid) - began
    return {"cpu.daemon.sessions": spent / len(driver.seconds) * 1000}


def _drive(driver: Driver, pid: int, turns: int, floor: Appended) -> Driven:
    """A session of so many turns; between them the floor makes as much durable as they do."""
    session_id = driver.begin()
    driver.turn(session_id)
    driver.seconds.clear()
    driver.syncs.clear()
    cpu = cpu_seconds(pid)
    for _ in range(turns - 1):
        driver.turn(session_id)
        for _ in range(work.STEPS_A_TURN):
            floor.append()
    spent = cpu_seconds(pid) - cpu
    step, sync = median(driver.seconds), median(floor.seconds)
    beyond = median(seconds - syncs * sync for seconds, syncs in zip(driver.seconds, driver.syncs, strict=True))
    return Driven(spent / len(driver.seconds) * 1000, step * 1000, beyond * 1000)
