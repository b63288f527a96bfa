"""`abey daemon logs`: what a daemon wrote, with none running, over rotation, until nobody reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.shared.places import log_path
from abey_cli.log_file import entry, lines

ABEY = [sys.executable, "-c", "import sys; from abey_cli.main import main; sys.exit(main())"]
LINE = "2026-11-30T08:34:37.551Z INFO abey.daemon.serving: serving /s: at /r"
SAID = {
    "at": "2026-11-30T08:34:37.551Z",
    "level": "info",
    "logger": "abey.daemon.serving",
    "message": "serving /s: at /r",
}


@pytest.fixture
def log(work: Path) -> Path:
    path = log_path(work.parent / "state")
    path.parent.mkdir(parents=True)
    return path


def test_logs_are_printed_with_no_daemon_and_harmless(abey, log: Path) -> None:
    log.write_bytes(f"{LINE}\nTraceback\x1b[2J \xff\nno end".encode("latin-1"))
    assert abey("daemon", "logs") == (0, f"{LINE}\nTraceback\\x1b[2J \ufffd\nno end\n", "")
    items = [SAID, {"message": "Traceback\x1b[2J \ufffd"}, {"message": "no end"}]
    assert json.loads(abey("daemon", "logs", "--json").out) == {"items": items}


def test_no_log_is_said_and_no_failure(abey, work: Path) -> None:
    path = log_path(work.parent / "state")
    assert abey("daemon", "logs") == (0, "", f"nothing was written to {path} yet\n")
    assert abey("daemon", "logs", "--json", "-q") == (0, '{"items": []}\n', "")


def test_a_log_that_cannot_be_read_is_said(abey, log: Path) -> None:
    log.mkdir()
    ran = abey("daemon", "logs")
    assert (ran.code, ran.out, ran.err) == (1, "", f"abey: {log} cannot be read: Is a directory\n")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n")), max_size=5), st.booleans())
def test_every_line_is_given_out_once(tmp_path_factory: pytest.TempPathFactory, said: list[str], ended: bool) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    text = "\n".join(said) + ("\n" if said and ended else "")
    path.write_bytes(text.encode())
    assert list(lines(path)) == text.split("\n")[: -1 if text.endswith("\n") or not text else None]


def test_a_line_that_the_logger_did_not_begin_is_a_message_alone() -> None:
    assert [entry(LINE), entry("ValueError: INFO x: y")] == [SAID, {"message": "ValueError: INFO x: y"}]


def test_lines_for_programs_are_read_and_shown_to_people(abey, log: Path) -> None:
    failed = {**SAID, "message": "one\ntwo", "error": "ValueError: x\x1b"}
    log.write_text(f"{json.dumps(SAID)}\n{json.dumps(failed)}\n{{}}\n[\n")
    head = "2026-11-30T08:34:37.551Z INFO abey.daemon.serving:"
    text = f"{LINE}\n{head} one\n    two\n    ValueError: x\\x1b\n{{}}\n[\n"
    assert abey("daemon", "logs") == (0, text, "")
    items = [SAID, failed, {"message": "{}"}, {"message": "["}]
    assert json.loads(abey("daemon", "logs", "--json").out) == {"items": items}


def test_following_goes_on_over_a_log_that_is_late_replaced_removed_and_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def append(text: str) -> None:
        with log.open("a") as file:
            file.write(text)

    def replace(text: str) -> None:
        log.replace(tmp_path / "log.1")
        log.write_text(text)

    steps = iter(
        [
            lambda: append("one\ntw"),
            lambda: append("o\n"),
            lambda: (append("last of the old\n"), replace("first of the new\n")),
            lambda: None,
            log.unlink,
            lambda: append("after a removal\n"),
            lambda: log.write_text("cut\n"),
            lambda: append("end"),
        ]
    )

    def wait() -> bool:
        step = next(steps, None)
        if step:
            step()
        return step is not None

    expected = ["one", "two", "last of the old", "first of the new", "after a removal", "cut", "end"]
    assert list(lines(log, wait)) == expected


def test_following_prints_json_lines_until_nobody_reads(log: Path) -> None:
    log.write_text(f"{LINE}\n")
    with subprocess.Popen([*ABEY, "daemon", "logs", "-f", "--json"], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline()) == SAID
        with log.open("a") as file:
            file.write("more\n")
        assert json.loads(follower.stdout.readline()) == {"message": "more"}
        follower.stdout.close()
        assert follower.wait(20) == 0
