"""`abey daemon restart` puts the next daemon in its place, whoever connects again meanwhile; and TCP."""

import subprocess
import threading
from pathlib import Path

from support.e2e import PROGRAMS, Place


def variable(pid: int, name: str) -> str | None:
    """What a process was started with."""
    pairs = [pair.partition("=") for pair in Path(f"/proc/{pid}/environ").read_text().split("\0")]
    return next((value for key, _, value in pairs if key == name), None)


class Editor(threading.Thread):
    """A client that starts a daemon as soon as its own is gone, as one does whose server has ended."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._first = place.peer()
        self.first = self._first.pid
        self.second: int | None = None
        self.start()

    def run(self) -> None:
        with self._first as first:
            first.ended()
        with self._place.peer() as again:
            self.second = again.pid


def test_an_editor_that_connects_again_at_once_finds_the_daemon_of_the_restart(place: Place) -> None:
    for level in ("debug", "warning", "error"):
        editor = Editor(place)
        done = subprocess.run(
            place.program("daemon", "restart"),
            env={**place.env, "ABEY_LOG": level},
            capture_output=True,
            text=True,
            check=True,
        )
        editor.join()
        running = place.daemon_pid()
        assert running is not None
        assert (editor.second, f"pid {running}, " in done.stdout) == (running, True)
        assert (variable(running, "ABEY_LOG"), done.stderr) == (level, f"the daemon (pid {editor.first}) is gone\n")


def test_the_next_daemon_logs_as_the_restart_says(machine: Place) -> None:
    machine.env["ABEY_LOG"] = "info"
    machine.abey("daemon", "restart", "--log-level", "error")
    machine.abey("daemon", "restart", "--log-level", "info")
    assert machine.log().count("INFO abey.daemon.serving: serving ") == 1


def test_a_restart_without_a_daemon_says_that_it_started_one(machine: Place) -> None:
    done = machine.run("daemon", "restart")
    assert (done.code, done.err) == (0, "no daemon was running; started one\n")
    assert f"pid {machine.daemon_pid()}, " in done.out


def test_the_status_says_where_tcp_is_served(machine: Place) -> None:
    machine.env["ABEY_DAEMON"] = f"{PROGRAMS}/abey-daemon --listen 127.0.0.1:0 --token-file {machine.root}/token"
    started = machine.run("daemon", "start")
    place = (machine.state / "daemon.tcp").read_text().strip()
    shown = started.out.splitlines()
    assert (started.code, shown[3].startswith("socket: "), shown[4]) == (0, True, f"tcp: {place}")
    assert machine.json("daemon", "status")["daemon"]["tcp"] == place
    with machine.peer() as peer:
        assert peer.daemon["daemon"]["tcp"] == place


def test_a_daemon_beside_another_fails_where_it_was_to_serve_tcp(place: Place) -> None:
    pid = place.daemon_pid()
    argv = [PROGRAMS / "abey-daemon", "--listen", "127.0.0.1:0", "--token-file", place.root / "token"]
    done = subprocess.run(argv, env=place.env, capture_output=True, text=True, check=False)
    said = f"abey-daemon: the daemon with pid {pid} holds {place.state}/daemon.lock; TCP is not served: "
    assert (done.returncode, done.stderr) == (6, f"{said}`abey daemon stop` ends that one first\n")
    status = place.json("daemon", "status")["daemon"]
    assert (status["pid"], "tcp" in status) == (pid, False)
