"""`abey demo` with a real private daemon: a whole session, and nothing of it is left."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from abey_cli.commands.demo import cleaning_up

ABEY = [sys.executable, "-c", "import sys; from abey_cli.main import main; sys.exit(main())", "demo"]
BEGUN = """
$ abey session start --agent-file demo.json -p 'What is in this folder, and what time is it?'
session-id: ID
State: UserTurn (ready for LLM)

$ abey session step @
State: LlmTurn
  tool call: list_folder
  tool call: bash_command

$ abey session step @
State: PartialUserTurn
  completed: 1
  deferred:  1
  ready:     0
  token: TOKEN (bash_command) approval required
"""
ENDED = """
$ abey session approve TOKEN --hash HASH
State: UserTurn (ready for LLM)

$ abey session step @
State: LlmTurn (completed)
Done: the folder was listed at once, and the clock was for you to decide.
"""


@pytest.fixture
def temporary(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder that the demo may use, of a path short enough for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="abey-t-"))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ABEY, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def named(text: str) -> str:
    """`text` with what differs from run to run named."""
    for pattern, name in ((r"[0-9a-f]{64}", "HASH"), (r"[0-9a-f]{32}", "TOKEN"), (r"(?<=session-id: )\w{26}", "ID")):
        text = re.sub(pattern, name, text)
    return text


def left_by(temporary: Path) -> list[str]:
    """What is left: files, and processes that were told of the temporary folder."""
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes()
        except OSError:  # another user's, or gone meanwhile
            continue
        if os.fsencode(temporary / "abey-demo") in told:
            processes.append(entry.name)
    return [*(path.name for path in temporary.iterdir()), *processes]


def test_with_yes_it_shows_a_session_to_its_answer(temporary: Path, work: Path) -> None:
    done = demo("--yes")
    assert (done.returncode, named(done.stdout)) == (0, BEGUN + ENDED)
    assert '    "command": "date"\n' in done.stderr
    assert (left_by(temporary), list(work.parent.iterdir())) == ([], [work])


def test_where_nobody_can_be_asked_the_call_waits(temporary: Path) -> None:
    done = demo()
    assert (done.returncode, named(done.stdout), left_by(temporary)) == (3, BEGUN, [])
    assert "Nobody can be asked here: `abey demo --yes` approves it" in done.stderr


def test_with_json_it_prints_the_session_alone(temporary: Path) -> None:
    done = demo("--yes", "--json")
    session = json.loads(done.stdout)["session"]
    assert (done.returncode, session["state"], session["agent"]) == (0, "completed", "demo")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(temporary: Path, number: signal.Signals, code: int) -> None:
    with subprocess.Popen([*ABEY, "--yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        while not program.stdout.readline().startswith("session-id:"):
            assert program.poll() is None
        program.send_signal(number)
        program.communicate(timeout=60)
    assert (program.returncode, left_by(temporary)) == (code, [])


def test_a_signal_is_what_counts_when_what_it_cut_off_fails_as_well() -> None:
    with pytest.raises(SystemExit) as ended, cleaning_up():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            raise AttributeError("half done")
    assert ended.value.code == 143
    with pytest.raises(AttributeError, match="ours"), cleaning_up():
        raise AttributeError("ours")
