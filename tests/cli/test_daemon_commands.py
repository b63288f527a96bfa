"""`abey daemon`: status and stop start none; stop returns when the process is gone."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.canned_daemon import AGENTS, AT, CannedDaemon

from abey.shared.version import VERSION

STATUS = {
    "daemon": {"pid": 4711, "buildId": "b1", "startedAt": AT, "stateDir": "/s", "socket": "/r/x"},
    "clients": 2,
    "sessions": {"idle": 3},
    "queues": {},
    "memory": {},
    "durability": "power",
    "state": "running",
}
SHOWN = (
    f"daemon: running, pid 4711, since {AT}\nbuild: b1 (this is {VERSION})\nstate-dir: /s\nsocket: /r/x\n"
    "clients: 2\nsessions: 3 idle\ndurability: power\n"
)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as started:
        yield started
        started.kill()


def test_status_is_what_the_daemon_says(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/status"] = STATUS
    assert abey("daemon", "status") == (0, SHOWN, "")
    assert json.loads(abey("daemon", "status", "--json").out) == STATUS


def test_a_daemon_of_another_build_is_used_and_named(abey, daemon: CannedDaemon) -> None:
    daemon.agents = {**AGENTS, "daemon": {**AGENTS["daemon"], "buildId": "0.0.9"}}
    daemon.on["agents/status"] = STATUS
    way_out = "`abey daemon restart` makes them one, and sessions stay"
    said = f"abey: the daemon is of build 0.0.9, this is {VERSION}; {way_out}\n"
    assert abey("daemon", "status") == (0, SHOWN, said)
    assert abey("daemon", "status", "-q").err == abey("daemon", "status", "--json").err == ""


@pytest.mark.parametrize("transport", ["auto", "socket", "stdio"])
def test_status_starts_none(abey, monkeypatch, tmp_path: Path, transport: str) -> None:
    monkeypatch.setenv("ABEY_DAEMON", "touch started")
    ran = abey("daemon", "status", "--transport", transport)
    assert ran == (6, "", f"abey: no daemon is running for {tmp_path / 'state'}; `abey daemon start` starts one\n")
    assert not (tmp_path / "state").exists()


def test_start_uses_the_one_that_runs(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/status"] = STATUS
    assert abey("daemon", "start") == (0, SHOWN, "")


@pytest.mark.parametrize(("options", "mode"), [((), "drain"), (("--now",), "now")])
def test_stop_returns_when_the_process_is_gone(abey, daemon: CannedDaemon, process, options, mode) -> None:
    daemon.agents = {**AGENTS, "daemon": {**AGENTS["daemon"], "pid": process.pid}}

    def shut_down(_params: object) -> object:
        process.terminate()
        return {}

    daemon.on["agents/shutdown"] = shut_down
    assert abey("daemon", "stop", *options) == (0, "", f"the daemon (pid {process.pid}) is gone\n")
    assert (os.waitpid(process.pid, os.WNOHANG)[0], daemon.params("agents/shutdown")) == (process.pid, [{"mode": mode}])


def test_one_that_is_stopped_is_not_said_to_be_of_another_build(abey, daemon: CannedDaemon, process) -> None:
    daemon.agents = {**AGENTS, "daemon": {**AGENTS["daemon"], "buildId": "0.0.9", "pid": process.pid}}
    daemon.on["agents/shutdown"] = lambda _: process.terminate() or {}
    assert abey("daemon", "stop").err == f"the daemon (pid {process.pid}) is gone\n"


def test_stop_of_none_is_exit_0(abey) -> None:
    assert abey("daemon", "stop") == (0, "", "no daemon is running\n")
    assert abey("daemon", "stop", "--json", "-q") == (0, "{}\n", "")


def test_a_daemon_that_cannot_start_says_why(abey, monkeypatch) -> None:
    monkeypatch.setenv("ABEY_DAEMON", "sh -c 'echo it is broken >&2; exit 3'")
    ran = abey("daemon", "start", "--transport", "auto")
    assert (ran.code, ran.out, "it is broken" in ran.err) == (6, "", True)
