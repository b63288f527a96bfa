"""The syncs of the whole daemon, those of its index too, as strace counts them; nothing where there is no strace."""

import re
import shutil
from pathlib import Path

from bench.client import Client
from bench.figures import Figures
from bench.machine import PATIENCE, Machine
from bench.measures.daemon import Driver
from bench.sizes import Size

_TRACED = "trace=fsync,fdatasync,sync_file_range,msync"
_CALL = re.compile(r"\b(?:fsync|fdatasync|sync_file_range|msync)\(")


def measure(size: Size, folder: Path) -> Figures:
    if shutil.which("strace") is None:
        return {}
    few, many = size.turns[0], 2 * size.turns[0]
    syncs = [_syncs(folder / f"{turns}", turns) for turns in (few, many)]
    return {"syncs.strace": (syncs[1] - syncs[0]) / (many - few)}


def _syncs(folder: Path, turns: int) -> int:
    """Of a daemon that serves one session of so many turns, from its start to its end."""
    folder.mkdir()
    log = folder / "strace.log"
    machine = Machine(folder / "machine", under=("strace", "-f", "-qq", "-e", _TRACED, "-o", str(log)))
    process = machine.spawn()
    client = machine.client(process)
    client.greet(machine.env)
    _turns(Driver(machine, client), turns)
    _end(client)
    process.wait(PATIENCE)
    return sum(1 for line in log.read_text().splitlines() if _CALL.search(line))


def _turns(driver: Driver, turns: int) -> None:
    session_id = driver.begin()
    for _ in range(turns):
        driver.turn(session_id)


def _end(client: Client) -> None:
    """A signal would end strace and not the daemon."""
    client.request("agents/shutdown", mode="now")
    client.close()
