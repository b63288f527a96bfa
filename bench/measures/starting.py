"""From the start of a daemon to its first answer, beside what it takes Python to import pygls."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.machine import Machine, ended
from bench.processes import cpu_seconds, run
from bench.sizes import Size

_PYGLS = "import pygls.lsp.server"


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds until somebody could connect, and until `initialize` was answered; processor time until then."""

    accepted: float
    answered: float
    cpu: float


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine", module="abey.daemon")
    command = [sys.executable, "-c", _PYGLS]
    pygls, starts = [], []
    for _ in range(max(1, size.tries // 3)):
        pygls.append(run(command, machine.env, machine.work))
        starts.append(started(machine))
    answered, floor = median(one.answered for one in starts), median(one.wall for one in pygls)
    return {
        "start": answered,
        "start.cpu": median(one.cpu for one in starts),
        "start.pygls": floor,
        "start.pygls.cpu": median(one.cpu for one in pygls),
        "start.ratio": answered / floor,
        "start.accepted": median(one.accepted for one in starts) / answered,
    }


def started(machine: Machine) -> Started:
    """A daemon, which has ended when this returns."""
    began = time.perf_counter()
    process = machine.spawn()
    try:
        client = machine.client(process)
        accepted = time.perf_counter() - began
        client.greet(machine.env)
        answered = time.perf_counter() - began
        cpu = cpu_seconds(process.pid)
        client.close()
    finally:
        ended(process)
    return Started(accepted, answered, cpu)
