"""A daemon of a command's own: nothing of it is left, however the command ends."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.e2e import until

from abey_cli.private import open_private

SILENT = "import os, sys; open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); sys.stdin.read()"


@pytest.fixture
def silent(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A daemon that answers nothing, and ends with its stdin; the file holds its pid once it runs."""
    told = work / "pid"
    monkeypatch.setenv("ABEY_DAEMON", shlex.join([sys.executable, "-c", SILENT, str(told)]))
    return told


def pid_in(told: Path) -> int:
    until(lambda: told.exists() and told.read_text().endswith("\n"))
    return int(told.read_text())


def test_it_ends_though_the_farewell_is_interrupted(silent: Path) -> None:
    channel = open_private(os.environ)
    pid = pid_in(silent)

    def farewell() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        channel.close(farewell)
    assert not Path(f"/proc/{pid}").exists()


def test_it_ends_with_a_command_that_is_interrupted_before_it_answers(silent: Path, work: Path) -> None:
    program = [sys.executable, "-c", "import sys; from abey_cli.main import main; sys.exit(main())"]
    with subprocess.Popen([*program, "session", "list", "--transport", "stdio"], stderr=subprocess.PIPE) as command:
        pid = pid_in(silent)
        command.send_signal(signal.SIGINT)
    assert (command.returncode, Path(f"/proc/{pid}").exists()) == (130, False)
