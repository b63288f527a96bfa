"""Minutes of mixed traffic with a disk that fails now and then and restarts: nothing leaks, nothing is lost."""

import os
import select
import shutil
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.e2e import Place, kill, until
from support.e2e_crash import Nursery
from support.e2e_peer import Peer
from support.figures import Figures
from support.harness.traffic import Bench, Client

from abey.runtime.recording import WRITERS

pytestmark = pytest.mark.figures

SHAKY = 0.002
"""How often a write or a sync fails."""

THREADS = 1 + min(32, (os.cpu_count() or 1) + 4) + WRITERS + 2
"""Those that a daemon keeps once it needs them: the first one, those of asyncio.to_thread, those that write journals,
and two that watch the agent files."""

STILL_SECONDS = 1.0
"""Tools of a session that failed are ended behind the scenes: what is held is counted once it has not changed for so
long."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a daemon holds when nothing runs: descriptors beside those of journals and of the index, which are opened
    when they are needed, threads, children, KiB of memory."""

    descriptors: int
    threads: int
    children: int
    memory: int


def test_a_daemon_that_runs_long_leaks_nothing(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    lives, seconds = figures.size(2, 20), figures.size(2, 60)
    crowd, each = figures.size(1, 5), figures.size(5, 10)
    lived: list[tuple[Held, Held]] = []
    things = 0
    with closing(Place(tmp_path / "machine", TMPDIR=str(tmp_path / "tmp"))) as place:
        (tmp_path / "tmp").mkdir()
        bench = Bench(place, nursery, f"9872.{os.getpid()}")
        clients = [Client(bench, f"c{number}", f"{figures.seed}:soak:{number}", each) for number in range(crowd)]
        for life in range(lives):
            with bench.wake(shaky=SHAKY, seed=figures.seed + life) as peer:
                things += bench.check(peer)
                unused = _unused(place, clients)
                warm = _lives(bench, clients, peer, seconds / 3)
                lived.append((warm, _lives(bench, clients, peer, seconds * 2 / 3)))
                _end(peer, gently=life % 2 == 0)
            bench.nothing_is_left()
            for directory in unused:
                shutil.rmtree(directory)
        with bench.wake() as peer:
            things += bench.check(peer)
        left = [*place.state.rglob("*.new"), *place.state.rglob("*.part"), *(tmp_path / "tmp").iterdir()]
    leaked = _leaks(lived)
    growth = lived[-1][1].memory / lived[min(2, lives - 1)][1].memory - 1
    size = f"{lives} lives of {seconds} s, {crowd * each} sessions, {things} things"
    figures.note("leaked descriptors, threads, children, temporary files after a soak", (*leaked, len(left)), size)
    if figures.large:
        figures.note("growth of the memory from the third to the last life of a soak", f"{growth:+.1%}", size)
        assert growth <= 0.1
    assert (leaked, left) == ((0, 0, 0), [])


def _lives(bench: Bench, clients: list[Client], peer: Peer, seconds: float) -> Held:
    """Traffic for so long; what the daemon holds once nothing runs."""
    bench.halt.clear()
    for client in clients:
        client.begin()
    select.select([], [], [], seconds)
    bench.halt.set()
    for client in clients:
        client.join()
    for client in clients:
        client.settle(peer)
    bench.nothing_is_left()
    until(lambda: peer.request("agents/status")["clients"] == 1, "for the clients to be gone")
    return _held_still(peer.pid)


def _held_still(pid: int) -> Held:
    while True:
        before = _held(pid)
        select.select([], [], [], STILL_SECONDS)
        now = _held(pid)
        if (before.descriptors, before.children) == (now.descriptors, now.children):
            return now


def _held(pid: int) -> Held:
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    targets = _targets(pid)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return Held(
        descriptors=sum(not target.endswith(".jsonl") and "/index.sqlite" not in target for target in targets),
        threads=int(status["Threads"]),
        children=len(children),
        memory=int(status["VmRSS"].split()[0]),
    )


def _targets(pid: int) -> list[str]:
    """What its descriptors are of, but for those that it closes while one looks."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


def _end(peer: Peer, gently: bool) -> None:
    if gently:
        peer.request("shutdown")
        peer.notify("exit", {})
    kill(peer.pid)


def _leaks(lived: list[tuple[Held, Held]]) -> tuple[int, int, int]:
    """What was there at the end of a life and not when it was warm: descriptors, threads, children."""
    return (
        max(end.descriptors - warm.descriptors for warm, end in lived),
        max(0, *(end.threads - max(warm.threads, THREADS) for warm, end in lived)),
        max(end.children - warm.children for warm, end in lived),
    )


def _unused(place: Place, clients: list[Client]) -> list[Path]:
    """Sessions whose script has ended: they go, so that every life begins with as much as the one before."""
    used = {session_id for client in clients for session_id in client.sessions}
    directories = place.state / "sessions"
    return [one for one in directories.iterdir() if one.name not in used] if directories.exists() else []
