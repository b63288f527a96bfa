"""What a command line is refused with: the thing, and the way out, in its own words."""

import os
from pathlib import Path

import pytest
from support.canned_daemon import SESSION_ID, CannedDaemon, Refusal, answered, session, transcript

from abey_cli.console import Console


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("session", "show", ""), "session show: ID"),
        (("session", "rename", SESSION_ID, ""), "session rename: TITLE"),
        (("session", "send", SESSION_ID, ""), "session send: TEXT"),
        (("session", "restore", ""), "session restore: ID"),
        (("session", "export", SESSION_ID, "-o", ""), "session export: --output"),
        (("agents", "check", ""), "agents check: FILE"),
        (("session", "start", "--cwd", ""), "session start: --cwd"),
        (("session", "list", "--state-dir", ""), "session list: --state-dir"),
        (("--state-dir=", "session", "list"), "session list: --state-dir"),
    ],
)
def test_an_empty_name_is_bad_usage_and_is_named(abey, daemon: CannedDaemon, words, named: str) -> None:
    command = named.partition(":")[0]
    assert abey(*words) == (2, "", f"abey: {named} is empty; see `abey {command} --help`\n")
    assert daemon.asked == []


def test_an_empty_text_is_a_result_all_the_same(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/sessions"] = {"items": [session()]}
    assert abey("session", "list", "").code == 0


@pytest.mark.parametrize("words", [("start", "-p", "x"), ("import", "x.jsonl")])
def test_an_id_that_is_none_is_bad_usage(abey, daemon: CannedDaemon, words) -> None:
    ran = abey("session", *words, "--id", "Bad Id")
    said = "argument --id: 'Bad Id' is no id: 1 to 64 of 0-9 a-z _ -, the first no sign"
    told = f"abey: session {words[0]}: {said}; see `abey session {words[0]} --help`\n"
    assert (ran, daemon.asked) == ((2, "", told), [])


def test_a_title_that_is_too_long_is_bad_usage(abey, daemon: CannedDaemon) -> None:
    ran = abey("session", "rename", SESSION_ID, "x" * 1001)
    assert (ran.code, "it has 1001 characters, and a title at most 1000" in ran.err, daemon.asked) == (2, True, [])


def test_words_without_quotes_are_told_of_them(abey) -> None:
    quotes = "(words that belong together go in quotes)"
    told = f"abey: session list: unknown argument 'warm' {quotes}; see `abey session list --help`\n"
    assert abey("session", "list", "how", "warm") == (2, "", told)
    assert quotes not in abey("session", "show", "a", "b").err


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("help",), ("--help",)),
        (("help", "session"), ("session", "--help")),
    ],
)
def test_help_is_also_a_word(abey, words, same) -> None:
    asked, expected = abey(*words), abey(*same)
    assert (asked, asked.code, asked.out != "") == (expected, 0, True)


def refusing(daemon: CannedDaemon, method: str, message: str, **data: str) -> None:
    def refuse(_: object) -> object:
        raise Refusal(-31008, message, kind="state/invalid", **data)

    daemon.on[method] = refuse


def test_the_words_of_the_protocol_are_those_of_the_command_line(abey, daemon: CannedDaemon) -> None:
    refusing(daemon, "agents/step", "a prompt is for another state; use agents/send")
    way_out = f"`abey session send {SESSION_ID} TEXT` gives it another input"
    step = abey("session", "step", SESSION_ID, "-p", "x")
    assert (step.code, step.err) == (1, f"abey: a prompt is for another state; {way_out} (state/invalid)\n")
    refusing(daemon, "agents/delete", "session s has calls; force deletes it all the same")
    delete = abey("session", "delete", SESSION_ID, "--yes")
    assert delete.err == "abey: session s has calls; `--force` deletes it all the same (state/invalid)\n"
    rpc = abey("rpc", "agents/step")
    assert rpc.err == "abey: a prompt is for another state; use agents/send (state/invalid)\n"
    assert '"a prompt is for another state; use agents/send"' in abey("session", "step", SESSION_ID, "--json").out


def test_an_id_that_is_taken_names_the_way_out(abey, daemon: CannedDaemon) -> None:
    for method in ("agents/start", "agents/import", "agents/restore"):
        refusing(daemon, method, "session paris exists", sessionId="paris")
    daemon.on["agents/validate"] = {"diagnostics": []}
    start = abey("session", "start", "--agent", "a", "-p", "x", "--id", "paris").err
    brought = abey("session", "import", "x.jsonl", "--id", "paris").err
    restored = abey("session", "restore", "paris").err
    taken = "abey: session paris exists"
    assert (start, brought, restored) == (
        f"{taken}; another --id is another session (state/invalid)\n",
        f"{taken}; another --id is another session (state/invalid)\n",
        f"{taken}, and the trash has none of that id (state/invalid)\n",
    )


@pytest.mark.parametrize(
    ("alike", "next_words"), [([], "; `abey session list --trash` has those there are"), (["paris-1"], "")]
)
def test_a_session_that_is_not_in_the_trash_says_where_to_look(abey, daemon: CannedDaemon, alike, next_words) -> None:
    def refuse(_: object) -> None:
        raise Refusal(-31001, "the trash has no session x", kind="session/unknown", retryable=False, trashed=alike)

    daemon.on["agents/restore"] = refuse
    ran = abey("session", "restore", "x")
    assert ran == (4, "", f"abey: the trash has no session x (session/unknown){next_words}\n")


@pytest.mark.parametrize(("typed", "sure"), [("y\nyes\n", True), ("YES\n", True), ("y\nn\n", False), ("y\n", False)])
def test_a_y_is_no_yes_and_is_told_so(abey, daemon: CannedDaemon, typed: str, sure: bool) -> None:
    daemon.on["agents/delete"] = {}
    ran = abey("session", "delete", SESSION_ID, typed=typed, terminal=True)
    assert (ran.code, bool(daemon.params("agents/delete"))) == ((0, True) if sure else (1, False))
    assert ("'y' is neither; write yes, the whole word, or no" in ran.err) is typed.startswith("y\n")


def test_a_console_without_a_person_confirms_nothing(tmp_path: Path) -> None:
    with open(tmp_path / "out", "w+") as out, open(os.devnull) as nobody:
        assert Console(nobody, out, out, {}).confirm("Sure?") is False


def test_a_daemon_that_goes_while_it_drives_leaves_a_session_to_resume(abey, daemon: CannedDaemon) -> None:
    def gone(_: object) -> object:
        raise Refusal(-31021, "the daemon went", kind="daemon/gone")

    daemon.on["agents/resume"] = gone
    told = f"abey: the daemon went; `abey session resume {SESSION_ID}` goes on (daemon/gone)\n"
    assert abey("session", "resume", SESSION_ID) == (6, "", told)


def test_what_the_transcript_has_shown_is_not_shown_again(abey, daemon: CannedDaemon) -> None:
    final = {"itemId": "9.0", "revision": 9, "turnId": "t1", "at": "x", "kind": "assistantText", "text": "It is warm."}
    daemon.on["agents/get"] = {"session": answered("It is warm.")}
    daemon.on["agents/transcript"] = transcript(final)
    assert abey("session", "show", SESSION_ID).out.count("It is warm.") == 1
    daemon.on["agents/transcript"] = transcript()
    assert abey("session", "show", SESSION_ID).out.count("It is warm.") == 1


@pytest.fixture
def starting(work: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No daemon runs, and a command starts one."""
    monkeypatch.setenv("ABEY_TRANSPORT", "auto")
    return monkeypatch


WAY_OUT = "; name another place with ABEY_STATE_DIR or `abey --state-dir`\n"


def test_a_state_directory_that_is_no_folder_is_named(abey, starting, work: Path) -> None:
    file = work / "passwd"
    file.write_text("")
    told = f"abey: the daemon cannot be started: {file} is not a folder{WAY_OUT}"
    assert abey("session", "list", "--state-dir", str(file)) == (6, "", told)


def test_everybodys_folder_is_no_state_directory(abey, starting) -> None:
    told = f"abey: the daemon cannot be started: /var/tmp is everybody's folder{WAY_OUT}"
    assert abey("session", "list", "--state-dir", "/var/tmp") == (6, "", told)


@pytest.mark.parametrize("transport", ["auto", "stdio"])
def test_a_daemon_that_cannot_be_started_names_the_variable(abey, starting, transport: str) -> None:
    starting.setenv("ABEY_DAEMON", "/nonexistent --x")
    fact = "the daemon cannot be started: /nonexistent: No such file or directory"
    told = f"abey: {fact} (ABEY_DAEMON is '/nonexistent --x')\n"
    assert abey("session", "list", "--transport", transport) == (6, "", told)
    starting.setenv("ABEY_DAEMON", "'open")
    told = "abey: the daemon cannot be started: ABEY_DAEMON is no command: No closing quotation\n"
    assert abey("session", "list", "--transport", transport) == (6, "", told)
