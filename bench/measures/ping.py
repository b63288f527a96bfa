"""Requests that need no session, beside a plain asyncio server that gives the same answer, in the same minute."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from statistics import median

from bench.client import Client
from bench.figures import Figures
from bench.machine import PATIENCE, ROOT, Machine, ended
from bench.processes import cpu_seconds
from bench.sizes import Size

METHOD = "agents/status"
_WINDOW = 64
"""Requests that are on their way at the same time."""
_ROUNDS = 5


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine")
    with machine.serving() as (process, ours):
        answer = folder / "answer.json"
        answer.write_text(json.dumps(ours.request(METHOD)))
        with _floor(answer, folder / "floor") as (floor_pid, floor):
            taken = {"ours": _Taken(ours, process.pid), "floor": _Taken(floor, floor_pid)}
            for _ in range(_ROUNDS):
                for one in taken.values():
                    one.ask(size.pings // _ROUNDS)
            cpu = {name: one.cpu for name, one in taken.items()}
        with _floor_over_pipes(answer) as (floor_pid, floor):
            pipes = _Taken(floor, floor_pid)
            pipes.ask(size.pings)
    with machine.piped() as (process, client):
        stdio = _Taken(client, process.pid)
        stdio.ask(size.pings)
    return {
        "ping": taken["ours"].median,
        "ping.floor": taken["floor"].median,
        "ping.ratio": taken["ours"].median / taken["floor"].median,
        "ping.stdio": stdio.median,
        "ping.stdio.ratio": stdio.median / pipes.median,
        "ping.cpu": cpu["ours"],
        "ping.cpu.floor": cpu["floor"],
        "ping.rate": taken["ours"].rate,
        "ping.rate.floor": taken["floor"].rate,
        "ping.rate.ratio": taken["floor"].rate / taken["ours"].rate,
    }


class _Taken:
    """How long answers took one after the other, and how many came in a second while many were asked for."""

    def __init__(self, client: Client, pid: int) -> None:
        self._client = client
        self._pid = pid
        self._before = cpu_seconds(pid)
        self._asked = 0
        self._seconds: list[float] = []
        self._rates: list[float] = []

    @property
    def median(self) -> float:
        """Milliseconds."""
        return median(self._seconds) * 1000

    @property
    def rate(self) -> float:
        return median(self._rates)

    @property
    def cpu(self) -> float:
        """Milliseconds of the server's, for each of all requests so far."""
        return (cpu_seconds(self._pid) - self._before) / self._asked * 1000

    def ask(self, times: int) -> None:
        self._asked += 2 * times
        for _ in range(times):
            began = time.perf_counter()
            self._client.request(METHOD)
            self._seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
        self._pipeline(times)
        self._rates.append(times / (time.perf_counter() - began))

    def _pipeline(self, times: int) -> None:
        asked = answered = 0
        while answered < times:
            while asked < times and asked - answered < _WINDOW:
                self._client.ask(METHOD)
                asked += 1
            answered += "result" in self._client.next_message()


@contextmanager
def _floor(answer: Path, path: Path) -> Iterator[tuple[int, Client]]:
    process = subprocess.Popen(_command(answer, str(path)), cwd=ROOT)
    try:
        end = time.monotonic() + PATIENCE
        connection = socket(AF_UNIX)
        while connection.connect_ex(str(path)):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the plain server does not listen")
            time.sleep(0.01)
        client = Client.of_socket(connection)
        yield process.pid, client
        client.close()
    finally:
        ended(process)


@contextmanager
def _floor_over_pipes(answer: Path) -> Iterator[tuple[int, Client]]:
    process = subprocess.Popen(_command(answer), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process.pid, Client.of_pipes(process)
    finally:
        ended(process)


def _command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "bench.floors.answering", *map(str, arguments)]
