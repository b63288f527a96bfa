"""What a daemon costs while nothing happens, and how long one stays whose editor was killed (C21)."""

import select
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import PROGRAMS, Place
from support.e2e_crash import Nursery
from support.figures import Figures
from support.killed_editor import Editor
from support.raw_peer import INITIALIZE

pytestmark = pytest.mark.figures

MOST_CPU = 0.05
"""How much less it is, the table says. On a machine that sleeps, to wake alone can cost milliseconds, so that what is
held to a bound is how often it wakes."""
MOST_WAKINGS = 25
"""In a second; 15 when this was written, of which 4 ask whether files have changed, and most others look at them."""
MOST_SECONDS = 2.0
TRIES = 3
"""A busy machine takes its time to what begins behind an answer, and wakes more than it has to; one that idles does in
one of them."""


def cpu_seconds(pid: int) -> float:
    """Of all threads, to the nanosecond: the ticks of /proc/PID/stat charge a whole one to whoever wakes with it."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def wakings(pid: int) -> int:
    lines = (line for one in Path(f"/proc/{pid}/task").glob("*/status") for line in one.read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def idled(pid: int, seconds: float) -> tuple[float, float]:
    """For so long: the share of a processor that it used, and how often it woke in a second."""
    before, woken = cpu_seconds(pid), wakings(pid)
    select.select([], [], [], seconds)
    return (cpu_seconds(pid) - before) / seconds, (wakings(pid) - woken) / seconds


def test_a_daemon_that_nobody_asks_idles(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    seconds = figures.size(8, 60)
    with closing(Place(tmp_path / "machine")) as place, nursery.wake(place) as peer:
        gone = place.peer("gone")
        gone.hang_up()
        place.rpc("agents/sessions")
        select.select([], [], [], 1)  # what begins behind the answer of a first request has ended
        share, often = idled(peer.pid, seconds)
        for _ in range(TRIES - 1):
            if share >= MOST_CPU or often >= MOST_WAKINGS:
                share, often = idled(peer.pid, seconds)
    figures.note(
        "processor time of an idle shared daemon",
        f"{share:.2%}, woken {often:.0f} times a second",
        f"{seconds} s, one client connected, one that vanished",
    )
    assert (share < MOST_CPU, often < MOST_WAKINGS) == (True, True)


async def test_a_standalone_daemon_ends_soon_after_its_editor_was_killed(tmp_path: Path, figures: Figures) -> None:
    took = 0.0
    kills = figures.size(2, 20)
    with closing(Place(tmp_path / "machine")) as place:
        for _ in range(kills):
            with Editor(place.env, str(PROGRAMS / "abey-daemon"), "--stdio", "--standalone") as editor:
                assert editor.says(id=1, method="initialize", params=INITIALIZE).startswith("Content-Length: ")
                began = time.monotonic()
                editor.is_killed()
                await editor.server_ended()
                took = max(took, time.monotonic() - began)
    figures.note(
        "seconds that a standalone daemon outlives a killed editor", f"{took:.2f}", f"{kills} kills, its pipe held open"
    )
    assert took < MOST_SECONDS
