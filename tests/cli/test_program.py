"""`abey` as a program: what it loads, a private daemon, a closed pipe, Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.canned_daemon import SESSION_ID, CannedDaemon, answered, ended, pending, session

from abey_cli.detaching import asking

ABEY = [sys.executable, "-c", "import sys; from abey_cli.main import main; sys.exit(main())"]
CANNED_STDIO = Path(__file__).parents[1] / "support" / "canned_stdio.py"
HEAVY = {
    "argcomplete",
    "argparse",
    "asyncio",
    "lsprotocol",
    "pydantic",
    "pygls",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
}
MOST_MODULES = 100
"""Those of the standard library among them."""
LOADED = f"""
import sys
before = {{*sys.modules}}
from abey_cli.main import main
code = main(["session", "pending", "-q"])
loaded = {{*sys.modules}} - before
print(code, sorted({{name.partition(".")[0] for name in loaded}} & {HEAVY}), len(loaded) <= {MOST_MODULES})
print(sorted(name for name in loaded if name.startswith("abey.") and not name.startswith("abey.shared")))
print(sorted(name for name in loaded if name.startswith("abey_cli.commands.")))
"""


def run(*argv: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ABEY, *argv], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, **more)


def test_the_path_of_pending_loads_nothing_heavy(daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == (
        f"{pending()['token']}\n0 [] True\n[]\n['abey_cli.commands.pending']\n",
        "",
    )


@pytest.fixture
def private(work: Path, monkeypatch: pytest.MonkeyPatch):
    def choose(mode: str) -> None:
        monkeypatch.setenv("ABEY_DAEMON", f"{sys.executable} {CANNED_STDIO} {mode}")

    return choose


def test_a_private_daemon_is_standalone_runs_in_the_root_and_is_told_to_go(private, work: Path) -> None:
    private("ok")
    done = run("session", "list", "--transport", "stdio")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{SESSION_ID}  userTurn  a  --stdio --standalone  /\n"
    assert (work.parent / "exited").exists()


def test_a_private_daemon_that_finds_the_lock_held_names_the_holder(private) -> None:
    private("locked")
    done = run("session", "list", "--transport", "stdio")
    said = "abey: the private daemon ended: another daemon, pid 4711, holds the lock of this state directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (6, "", said)


def test_a_closed_pipe_is_silent(daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = {"session": session()}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*ABEY, "session", "show", SESSION_ID], stdout=writer, stderr=subprocess.PIPE, timeout=30)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


class Running:
    """A run that lasts until the turn is cancelled or the test is over."""

    def __init__(self, daemon: CannedDaemon) -> None:
        self.begun = threading.Event()
        self.over = threading.Event()
        daemon.on["agents/resume"] = self.resume
        daemon.on["agents/cancel"] = {"applied": True, "session": ended("cancelled")}

    def resume(self, _params: object) -> object:
        self.begun.set()
        self.over.wait(20)
        return {"outcome": "completed", "steps": 1, "session": answered()}


@pytest.fixture
def running(daemon: CannedDaemon):
    held = Running(daemon)
    yield held
    held.over.set()


def start_resume(running: Running) -> subprocess.Popen[str]:
    argv = [*ABEY, "session", "resume", SESSION_ID]
    started = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.begun.wait(20)
    return started


def test_ctrl_c_detaches_and_says_how_to_come_back(daemon: CannedDaemon, running: Running) -> None:
    with start_resume(running) as program:
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=20)
    assert (program.returncode, out, daemon.params("agents/cancel")) == (130, "", [])
    assert err == (
        f"abey: detached; come back with `abey session wait {SESSION_ID}`\nCtrl-C again now cancels the turn\n"
    )


def test_ctrl_c_while_a_person_is_asked_says_how_to_be_asked_again(work: Path) -> None:
    class Nobody:
        def err(self, text: str) -> None:
            said.append(text)

    class Asked:
        console = Nobody()

    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), asking(Asked(), SESSION_ID):  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert said == [f"\nabey: `abey run --session {SESSION_ID}` asks again about what still waits"]


def test_a_second_ctrl_c_cancels_the_turn(daemon: CannedDaemon, running: Running) -> None:
    with start_resume(running) as program:
        assert program.stderr is not None
        program.send_signal(signal.SIGINT)
        hint = [program.stderr.readline(), program.stderr.readline()]
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=20)
    assert (program.returncode, hint[1], err) == (
        130,
        "Ctrl-C again now cancels the turn\n",
        "abey: the turn was cancelled\n",
    )
    assert daemon.params("agents/cancel") == [{"sessionId": SESSION_ID}]
