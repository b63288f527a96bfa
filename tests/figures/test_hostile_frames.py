"""A thousand hostile frames against a real daemon: it lives, serves others, and passes nothing over in silence."""

import socket
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from support.e2e import PROGRAMS, Place, until
from support.e2e_crash import Nursery
from support.figures import Figures
from support.hostile import KINDS, Hostile, hostile
from support.hostile_client import HostileClient, Outcome

from abey.shared.starting import connect

pytestmark = pytest.mark.figures

Connect = Callable[[Place, ExitStack], socket.socket]


def over_the_socket(place: Place, _: ExitStack) -> socket.socket:
    return connect(place.state, place.env, start=False, timeout=1)


def over_stdio(place: Place, processes: ExitStack) -> socket.socket:
    """The stdin and stdout of a real forwarder, which ends with its connection."""
    ours, theirs = socket.socketpair()
    command = [str(PROGRAMS / "abey-daemon"), "--stdio"]
    with theirs:
        processes.enter_context(
            subprocess.Popen(command, env=place.env, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        )
    return ours


class Log:
    """What the daemon wrote since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = path.stat().st_size

    def news(self) -> str:
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        return data.decode()


@pytest.mark.parametrize(
    ("way", "connected", "sizes"), [("socket", over_the_socket, (1000, 10_000)), ("stdio", over_stdio, (60, 1000))]
)
def test_hostile_frames_are_answered_or_end_the_connection_for_a_logged_reason(
    tmp_path: Path, nursery: Nursery, figures: Figures, way: str, connected: Connect, sizes: tuple[int, int]
) -> None:
    chance = figures.chance(f"hostile frames over {way}")
    count = figures.size(*sizes)
    took: list[float] = []
    ended: Counter[bool] = Counter()
    with (
        closing(Place(tmp_path / "machine", ABEY_LOG="debug")) as place,
        nursery.wake(place) as bystander,
        ExitStack() as processes,
    ):
        log = Log(place.root / "daemon.log")
        for one in [Hostile(kind, make(chance)) for kind, make in KINDS.items()] + [
            hostile(chance) for _ in range(count - len(KINDS))
        ]:
            client = HostileClient(connected(place, processes), "agents/status")
            log.news()
            client.attack(one.data)
            began = time.perf_counter()
            assert bystander.request("agents/status")["daemon"]["pid"] == bystander.pid
            took.append(time.perf_counter() - began)
            outcome = client.outcome()
            assert _is_accounted_for(outcome, log), (one, outcome)
            ended[outcome.good is None] += 1
        assert until(lambda: bystander.request("agents/status")["clients"] == 1)
    p99 = statistics.quantiles(took, n=100)[98] * 1000
    size = f"{count} frames, {ended[True]} ended the connection"
    figures.note(f"hostile frames over {way} that ended, hung or silenced the daemon", 0, size)
    figures.note(
        f"the same: `agents/status` of another client meanwhile, p99, ms (median {statistics.median(took) * 1000:.1f})",
        f"{p99:.1f}",
        size,
    )


def _is_accounted_for(outcome: Outcome, log: Log) -> bool:
    """Answered, or passed over as a notification is; else hung up on, for a reason in the log."""
    said = log.news()
    if outcome.good is None:
        return " closed: " in said
    assert "result" in outcome.good
    return bool(outcome.answers) or " sent " in said or " answered " in said
