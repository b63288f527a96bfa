"""`abey-daemon --doctor`: it needs no daemon, no lock and no right setting, and it makes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.fake_daemon import environment
from support.fake_host import FakeHost

from abey.daemon import doctor_program
from abey.daemon.settings import read_options
from abey.runtime.clock import SystemClock
from abey.runtime.store.locks import lock_state
from abey.shared.places import socket_path


def examined(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-P", "-m", "abey.daemon", "--doctor", "--json"]
    return subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, timeout=60, check=False)


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The worst finding of each check."""
    order = ["ok", "info", "warning", "error"]
    told = sorted(json.loads(done.stdout)["findings"], key=lambda one: order.index(one["severity"]))
    return {one["check"]: one for one in told}


def test_a_place_that_is_well_or_not_there_yet_is_no_error_and_stays_as_it_is(tmp_path: Path) -> None:
    done = examined(environment(tmp_path))
    found = findings(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert {name for name, one in found.items() if one["severity"] in ("warning", "error")} <= {"durability"}
    assert (found["permissions"]["severity"], os.listdir(tmp_path)) == ("info", [])


def test_a_wrong_setting_a_held_lock_and_a_taken_socket_are_told_together(tmp_path: Path) -> None:
    env = environment(tmp_path) | {"ABEY_DURABILITY": "fast", "ABEY_LOG": "loud"}
    state = Path(env["ABEY_STATE_DIR"])
    state.mkdir(mode=0o700)
    taken = socket_path(state, env)
    taken.mkdir(parents=True, mode=0o700)
    lock = lock_state(state, SystemClock().now())
    try:
        done = examined(env)
    finally:
        lock.release()
    found = findings(done)
    assert (done.returncode, done.stderr) == (1, "")
    assert found["lock"]["message"] == f"the daemon with pid {os.getpid()} holds {state / 'daemon.lock'}"
    assert found["socket"]["message"] == f"{taken} is a folder, where the socket belongs"
    assert found["settings"]["severity"] == "error"


def test_the_text_has_the_same_in_lines(tmp_path: Path) -> None:
    env = environment(tmp_path) | {"ABEY_DURABILITY": "fast"}
    found = doctor_program.report(env, FakeHost())
    lines = list(doctor_program.as_text(found))
    fact = "error    settings: ABEY_DURABILITY is 'fast'"
    advice = "           set ABEY_DURABILITY to power or process, or unset it"
    assert lines[lines.index(fact) + 1] == advice
    assert len([line for line in lines if not line.startswith(" ")]) == len(found)
    assert (doctor_program.status(found), doctor_program.status(found[:1])) == (1, 0)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-P", "-m", "abey.daemon", "--doctor"]
    env = environment(tmp_path)
    done = subprocess.run(argv, env=env, cwd="/", stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_broken_dependency_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "broken" / "pydantic").mkdir(parents=True)
    (tmp_path / "broken" / "pydantic" / "__init__.py").write_text("raise ImportError('half installed')")
    state = tmp_path / "state" / "sessions" / "s1"
    state.mkdir(parents=True)
    done = examined(environment(tmp_path) | {"PYTHONPATH": str(tmp_path / "broken")})
    found = findings(done)
    assert found["dependencies"]["message"] == "pydantic cannot be imported: ImportError: half installed"
    assert (done.returncode, found["disk"]["severity"], found["sessions"]["severity"]) == (1, "ok", "error")


@pytest.mark.parametrize("options", [("--doctor", "--stdio"), ("--json",)])
def test_options_that_make_no_sense_together_are_refused(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_options(options)
    assert (ended.value.code, "say --doctor" in capsys.readouterr().err) == (2, True)
