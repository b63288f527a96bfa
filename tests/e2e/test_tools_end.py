"""Nothing is left of a tool, whatever it started and however its call ends: with the real daemon."""

import os
import signal
from collections.abc import Iterator

import pytest
from support.e2e import Place, calls, kill, says, until
from support.processes import alive

PROGRAM = """\
sleep {0} &
nohup sleep {0} >/dev/null 2>&1 &
(setsid sleep {0} &)
setsid sh -c '(setsid sleep {0} &)' &
until test -e go; do sleep 0.01; done
"""
"""Children in the background, under nohup, in a session of their own, forked twice."""


@pytest.fixture
def mark() -> Iterator[str]:
    """A number of seconds that no other program sleeps; what a failed test leaves is killed."""
    mark = f"302.{os.getpid()}"
    yield mark
    for pid in alive(mark):
        kill(pid)


@pytest.mark.parametrize("way", ["exit", "timeout", "cancel", "stop", "SIGTERM", "SIGKILL"])
def test_nothing_is_left_of_a_tool(place: Place, mark: str, way: str) -> None:
    script = [calls(("sh", {"command": PROGRAM.format(mark)})), says("end")]
    config = place.config(script=script, limits={"toolTimeoutSeconds": 4 if way == "timeout" else 60})
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn", wait=False)
    until(lambda: len(alive(mark)) == 4)
    match way:
        case "cancel" | "stop":
            place.rpc(f"agents/{way}", sessionId=session["sessionId"])
        case "SIGTERM" | "SIGKILL":
            pid = place.daemon_pid()
            assert pid is not None
            kill(pid, signal.Signals[way])
        case "exit":
            (place.work / "go").touch()
    if way in ("exit", "timeout"):
        until(lambda: place.session(session["sessionId"])["state"] == "completed")
    if way == "SIGKILL":  # nobody is left to say when it is over
        until(lambda: alive(mark) == [])
    assert alive(mark) == []
