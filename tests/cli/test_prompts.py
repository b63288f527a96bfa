"""The prompt options: in order, joined, and nothing is started where one fails."""

from pathlib import Path

import pytest
from support.canned_daemon import SESSION_ID, CannedDaemon, session

from abey_cli import reading


@pytest.fixture
def sent(abey, daemon: CannedDaemon):
    """The prompt or the parts that `session start` sends."""
    daemon.on["agents/start"] = session()

    def start(*options: str, typed: str = "", terminal: bool = False):
        ran = abey("session", "start", "--agent", "a", *options, typed=typed, terminal=terminal)
        assert ran.code == 0, ran.err
        params = daemon.params("agents/start")[-1]
        return params.get("prompt", params.get("parts"))

    return start


def test_options_are_joined_in_order_with_a_newline(sent, work: Path) -> None:
    (work / "f.txt").write_text("from a file\n\n")
    assert sent("-p", "one", "-f", "f.txt", "--shell", "echo printed", "--prompt", "") == (
        "one\nfrom a file\n\nprinted\n"
    )


def test_a_shell_command_runs_in_the_folder_of_the_session(sent, work: Path) -> None:
    (work / "sub").mkdir()
    assert sent("--cwd", "sub", "--shell", "pwd") == str(work / "sub")


def test_media_stand_between_texts(sent, work: Path) -> None:
    (work / "a.png").write_bytes(b"\x89PNG")
    assert sent("-p", "look", "-m", "a.png", "-m", "image/x-own;a.png", "-p", "well?", "-p", "say") == [
        {"kind": "text", "text": "look"},
        {"kind": "media", "mimeType": "image/png", "path": str(work / "a.png")},
        {"kind": "media", "mimeType": "image/x-own", "path": str(work / "a.png")},
        {"kind": "text", "text": "well?\nsay"},
    ]


def test_stdin_is_the_prompt_where_no_option_gives_one(sent) -> None:
    assert sent(typed="é from stdin\n") == "é from stdin"


@pytest.mark.parametrize(("options", "terminal"), [(("-p", "x"), False), ((), True)])
def test_stdin_is_not_read_with_an_option_or_from_a_terminal(sent, options, terminal) -> None:
    assert sent(*options, typed="unread", terminal=terminal) == (options[1] if options else None)


def test_step_does_not_read_stdin(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/step"] = {"outcome": "advanced", "session": session()}
    abey("session", "step", SESSION_ID, typed="unread")
    assert daemon.params("agents/step") == [{"sessionId": SESSION_ID}]


def test_the_shell_of_a_step_runs_where_its_session_does(abey, daemon: CannedDaemon, tmp_path: Path) -> None:
    daemon.on["agents/get"] = {"session": session(cwd=str(tmp_path))}
    daemon.on["agents/step"] = {"outcome": "advanced", "session": session()}
    abey("session", "step", SESSION_ID, "--shell", "pwd")
    assert daemon.params("agents/step") == [{"sessionId": SESSION_ID, "prompt": str(tmp_path)}]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--shell", "exit 3"), 1, "--shell 'exit 3' failed with status 3"),
        (("-f", "absent"), 1, "absent cannot be read: No such file or directory"),
        (("-f", "."), 1, ". cannot be read: Is a directory"),
        (("-f", "latin"), 1, "latin is no UTF-8 text"),
        (("-f", "large"), 1, "large is larger than 50 MB"),
        (("--shell", "cat large"), 1, "--shell 'cat large' is larger than 50 MB"),
        (("--shell", "yes"), 1, "--shell 'yes' is larger than 50 MB"),
        (("-m", "absent.png"), 1, "absent.png cannot be read: No such file or directory"),
        (("-m", "unknown"), 2, "what kind of medium is 'unknown'? say -m 'image/png;PATH'"),
        (("--cwd", "absent", "-p", "x"), 2, "--cwd absent: no such folder"),
    ],
)
def test_nothing_is_started_where_a_piece_fails(abey, daemon: CannedDaemon, work: Path, options, code, message) -> None:
    (work / "latin").write_bytes(b"caf\xe9")
    with (work / "large").open("wb") as file:
        file.truncate(reading.INPUT_BYTES + 1)
    assert abey("session", "start", "--agent", "a", *options) == (code, "", f"abey: {message}\n")
    assert daemon.asked == []
