"""The log: lines that cannot be forged, for people or for programs; never larger than it is to be, and for us alone."""

import json
import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.e2e import Place, until

from abey.daemon.logs import JsonLines, TextLines
from abey.shared.logs import KEPT_LOGS, LOG_BYTES, old_logs, put_away
from abey.shared.places import log_path
from abey.shared.spawning import spawn

FORGED = "hello\n2026-11-30T08:00:00.000Z INFO abey.daemon: all is well\r\nx"


def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    made = logging.LogRecord("abey.x", logging.WARNING, "x.py", 1, "%s", (message,), info)
    made.created, made.msecs = 1_764_489_600.0, 7.0
    return made


def test_no_line_of_a_message_passes_for_a_record() -> None:
    first, *rest = TextLines().format(record(FORGED, ValueError("a\nb"))).split("\n")
    assert first == "2025-11-30T08:00:00.007Z WARNING abey.x: hello"
    assert rest == [
        "    2026-11-30T08:00:00.000Z INFO abey.daemon: all is well",
        "    x",
        "    ValueError: a",
        "    b",
    ]


def test_nothing_that_is_logged_acts_on_a_terminal() -> None:
    line = TextLines().format(record("\x1b[2Ja\x9b\u202eb"))
    assert line == "2025-11-30T08:00:00.007Z WARNING abey.x: \\x1b[2Ja\\x9b\\u202eb"


def test_for_programs_a_record_is_one_line_of_json() -> None:
    told = {"at": "2025-11-30T08:00:00.007Z", "level": "warning", "logger": "abey.x", "message": FORGED}
    plain, failed = (JsonLines().format(record(FORGED, error)) for error in (None, ValueError("a")))
    assert "\n" not in plain + failed
    assert (json.loads(plain), json.loads(failed)) == (told, {**told, "error": "ValueError: a"})


def test_old_logs_are_few_and_the_newest_is_the_first(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    for number in range(KEPT_LOGS + 3):
        log.write_text(str(number))
        put_away(log)
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"daemon.log.1": "5", "daemon.log.2": "4", "daemon.log.3": "3"}


PROGRAM = """
import logging, os, sys
from pathlib import Path
from abey.daemon.logs import LogStream
logging.basicConfig(handlers=[LogStream(Path(sys.argv[1]), most=1000)], level="INFO")
for number in range(200):
    logging.info("%s", f"{number:03} {'x' * 46}")
    if number == 100 and len(sys.argv) > 2:
        os.rename(sys.argv[1], sys.argv[2])
print("raw")
"""


def logged(log: Path, *more: str) -> None:
    """What a program logs that has the file for its output, as a daemon has."""
    with log.open("ab") as output:
        arguments = [sys.executable, "-P", "-c", PROGRAM, str(log), *more]
        subprocess.run(arguments, stdout=output, stderr=output, check=True)


def test_a_log_is_put_away_while_it_is_written_to_with_whatever_else_is_printed(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    logged(log)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["daemon.log", *(f"daemon.log.{number}" for number in (1, 2, 3))]
    assert max(path.stat().st_size for path in files) < 1100
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    lines = "".join(path.read_text() for path in [*reversed(files[1:]), files[0]]).splitlines()
    assert lines[-1] == "raw"
    told = [line.split()[0].removeprefix("INFO:root:") for line in lines[:-1]]
    assert told == [f"{number:03}" for number in range(200)][-len(told) :]


def test_a_log_that_somebody_moved_is_only_left(tmp_path: Path) -> None:
    log, moved = tmp_path / "daemon.log", tmp_path / "moved"
    logged(log, str(moved))
    assert "100 " in moved.read_text()
    assert "199 " in log.read_text()


def test_a_log_that_another_daemon_put_away_since_the_start_is_left(tmp_path: Path) -> None:
    """Else the files of both would be one for good, and it would grow without end."""
    log = tmp_path / "daemon.log"
    code = PROGRAM.replace("most=1000", "most=100_000")
    with log.open("ab") as output:
        put_away(log)
        subprocess.run([sys.executable, "-P", "-c", code, str(log)], stdout=output, stderr=output, check=True)
    left, log_lines = (path.read_text().splitlines() for path in (tmp_path / "daemon.log.1", log))
    assert (len(left), len(log_lines), log_lines[-1]) == (1, 200, "raw")


def test_a_log_that_cannot_be_put_away_goes_on_and_says_so_as_a_record(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    for path in old_logs(log):
        (path / "full").mkdir(parents=True)
    logged(log)
    others = [line for line in log.read_text().splitlines() if not line.startswith("INFO:root:")]
    assert (len(others), others[-1]) == (2, "raw")
    assert others[0].startswith("ERROR:abey.daemon.logs:the log cannot be put away: ")


def test_a_daemon_starts_though_its_long_log_cannot_be_put_away(tmp_path: Path) -> None:
    log = log_path(tmp_path / "state")
    for path in old_logs(log):
        (path / "full").mkdir(parents=True)
    log.write_bytes(b"x" * (LOG_BYTES + 1))
    assert spawn(tmp_path / "state", {"ABEY_DAEMON": "true"}).wait() == 0


def test_old_logs_are_put_away_by_several_at_once(tmp_path: Path) -> None:
    """One that finds nothing left to do has nothing to say."""
    put_away(tmp_path / "daemon.log")
    assert list(tmp_path.iterdir()) == []


def test_output_that_is_not_the_log_is_never_put_away(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, str(tmp_path / "daemon.log")], capture_output=True, text=True, check=True
    )
    assert (len(done.stderr.splitlines()), done.stdout, list(tmp_path.iterdir())) == (200, "raw\n", [])


@pytest.fixture
def machine(tmp_path: Path) -> Place:
    return Place(tmp_path / "machine")


def test_a_daemon_puts_its_log_away_and_goes_on(machine: Place) -> None:
    log = log_path(machine.state)
    log.parent.mkdir(mode=0o700, parents=True)
    machine.state.chmod(0o700)
    log.write_bytes(b"x" * LOG_BYTES)
    log.chmod(0o600)
    machine.env["ABEY_LOG_FORMAT"] = "json"
    try:
        machine.rpc("agents/status")
        old = log.with_name("daemon.log.1")
        until(old.exists)
        assert json.loads(old.read_text().lstrip("x").splitlines()[0])["level"] == "info"
        until(lambda: log.exists())
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
    finally:
        machine.close()
