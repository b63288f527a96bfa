"""What a command costs that a shell may run at every prompt."""

import resource
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery
from support.figures import Figures

pytestmark = pytest.mark.figures

MOST_CPU = 0.060
"""What is held to a bound is what it costs: on a busy machine it also waits."""


def test_a_look_at_what_waits_is_quick(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    times = figures.size(15, 100)
    cpu, wall = [], []
    with closing(Place(tmp_path / "machine")) as place, nursery.wake(place):
        for _ in range(times):
            began, used = time.monotonic(), processor_time()
            place.abey("session", "pending", "-q")
            wall.append(time.monotonic() - began)
            cpu.append(processor_time() - used)
    figures.note(
        "warm `abey session pending -q`: processor time and wall, least of all",
        f"{min(cpu) * 1000:.0f}, {min(wall) * 1000:.0f} ms",
        f"{times} times",
    )
    assert min(cpu) <= MOST_CPU


def processor_time() -> float:
    """Of the programs that were run and have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
