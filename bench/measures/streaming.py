"""Many sessions stream to many clients: what somebody else waits for an answer, and whether events get lost."""

import json
import subprocess
import sys
import time
from pathlib import Path

from bench import work
from bench.client import Client
from bench.figures import Figures
from bench.machine import Machine, Process
from bench.processes import cpu_seconds
from bench.sizes import Size
from bench.spreads import percentile

_PAUSE_MS = 50
_ASK_SECONDS = 0.01
_SESSIONS_A_CLIENT = 4


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine")
    config = work.streaming(size.seconds, _PAUSE_MS)
    with machine.serving() as (process, client):
        start = {"config": config, "cwd": str(machine.work), "prompt": work.PROMPT}
        sessions = [str(client.request("agents/start", **start)["sessionId"]) for _ in range(size.streams)]
        crowd = _crowd(machine, sessions)
        for session_id in sessions:
            client.request("agents/run", sessionId=session_id, wait=False)
        before, began = cpu_seconds(process.pid), time.monotonic()
        waits = _ask(client, began + size.seconds)
        busy = (cpu_seconds(process.pid) - before) / (time.monotonic() - began)
        report = json.loads(crowd.communicate()[0])
    return {
        "streams.p99": percentile(waits, 0.99) * 1000,
        "streams.median": percentile(waits, 0.5) * 1000,
        "streams.lost": report["lost"],
        "streams.pieces": report["pieces"] / size.seconds,
        "streams.cpu": busy,
    }


def _crowd(machine: Machine, sessions: list[str]) -> Process:
    """All of it is attached."""
    clients = str(max(1, len(sessions) // _SESSIONS_A_CLIENT))
    command = [sys.executable, "-m", "bench.crowd", str(machine.state), clients, *sessions]
    crowd = subprocess.Popen(command, cwd=machine.folder, env=machine.env, stdout=subprocess.PIPE)
    assert crowd.stdout is not None
    if crowd.stdout.readline() != b"attached\n":
        raise RuntimeError("nobody listens")
    return crowd


def _ask(client: Client, end: float) -> list[float]:
    """Seconds of each answer, asked for again and again until then."""
    waits = []
    while time.monotonic() < end:
        began = time.perf_counter()
        client.request("agents/status")
        waits.append(time.perf_counter() - began)
        time.sleep(_ASK_SECONDS)
    return waits
