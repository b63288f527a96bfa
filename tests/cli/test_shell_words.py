"""What a shell is told where the daemon is slow, or has something to hide in a name."""

import os
import threading
from pathlib import Path

import pytest
from support.canned_daemon import CannedDaemon, Refusal, session
from support.e2e import PROGRAMS, until
from support.shells import words_for


@pytest.fixture
def words(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    return lambda line, shell="bash": words_for(line, os.environ, work, shell)


def test_a_daemon_that_does_not_answer_is_not_waited_for(words, daemon: CannedDaemon) -> None:
    over = threading.Event()

    def late(_params: object) -> object:
        over.wait(20)
        return {"items": [session()]}

    daemon.on["agents/sessions"] = late
    assert words("abey session show ") == []
    assert not over.is_set()
    over.set()


def test_an_error_of_the_daemon_is_silence(words, daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31010, "no room", kind="record/failed", retryable=True)

    daemon.on["agents/pending"] = refuse
    assert words("abey session approve ") == []


def test_what_others_wrote_cannot_act_on_a_terminal(words, daemon: CannedDaemon) -> None:
    daemon.on["agents/sessions"] = {"items": [session(sessionId="one", title="\x1b[2Jgone\x0babc")]}
    assert until(lambda: words("abey session show o", "zsh")) == ["one:\\x1b[2Jgone\\x0babc"]


def test_the_state_directory_is_the_one_that_the_line_names(words, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/sessions"] = {"items": [session(sessionId="one")]}
    assert words("abey session show --state-dir elsewhere o") == []
    assert until(lambda: words(f"abey session show --state-dir {os.environ['ABEY_STATE_DIR']} o")) == ["one"]
    assert not (work / "elsewhere").exists()


def test_a_name_that_no_line_can_hold_hides_no_other_file(words, work: Path) -> None:
    for name in (b"f\xff", b"f\nf", b"fine", b"f'$(ls)", b".f"):
        (work / os.fsdecode(name)).write_text("")
    (work / "folder").mkdir()
    (work / "folder" / "floop").symlink_to("floop")
    assert words("abey run -f f") == ["f\\'\\$\\(ls\\)", "fine", "folder/"]
    assert words("abey run --session-file folder/") == ["folder/floop"]
    assert words("abey run -f absent/") == []
