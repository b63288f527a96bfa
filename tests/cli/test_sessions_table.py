"""The sessions as a table on a terminal: what each waits for, and from whom."""

from datetime import datetime

import pytest
from support.canned_daemon import AT, SESSION_ID, CannedDaemon, answered, empty, ended, pending, session, waiting

from abey_cli.ages import age
from abey_cli.sessions_table import sessions_table, waits_for

NOW = datetime.fromisoformat(AT).timestamp()
ERROR = {"kind": "model/overloaded", "message": "busy", "at": AT}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (waiting(pending(), pending()), "waits for you: approve bash_command and 1 more"),
        (waiting(pending(), pending(kind="question", tool="ask")), "waits for you: answer ask"),
        (waiting(pending(kind="uncertain")), "waits for you: settle bash_command"),
        (waiting(pending(kind="external", tool="ext\x1b")), "waits for a result: ext\\x1b"),
        (waiting(pending(kind="running", childId="kid", tool="reviewer")), "waits for a child: reviewer"),
        (session(activity="model"), "works: model"),
        (session(lastError=ERROR), "failed: model/overloaded"),
        (answered(), "answered"),
        (ended("cancelled"), "cancelled"),
        (empty(), "empty"),
        (session(state="stopped", lastError=ERROR), "stopped"),
        (session(parent="p", paused={"at": AT}, archived=True), "ready, child, paused, archived"),
    ],
)
def test_a_session_tells_what_it_waits_for_and_from_whom(found, told) -> None:
    assert waits_for(found) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (200000, "2 d")]
)
def test_an_age_fits_a_column(seconds: int, told: str) -> None:
    assert age(AT, NOW + seconds) == told


SESSIONS = [
    waiting() | {"usage": {"inputTokens": 1, "outputTokens": 1, "cost": 0.5}},
    answered(title="a title that is longer than a narrow terminal is wide", sessionId="s2"),
]


def lines(columns: int, colours: bool = False) -> list[str]:
    return sessions_table(SESSIONS, lambda name: f"{name[:4]}…", NOW + 60, columns, colours=colours).splitlines()


@pytest.mark.parametrize("columns", [30, 40, 80, 120, 200])
def test_no_line_is_longer_than_the_terminal(columns: int) -> None:
    assert [len(line) <= columns for line in lines(columns)] == [True, True, True]


def test_what_there_is_room_for_is_there() -> None:
    heads = [lines(columns)[0].split() for columns in (39, 59, 109, 110)]
    assert heads == [
        ["session", "state"],
        ["session", "state", "title"],
        ["session", "state", "age", "cost", "title"],
        ["session", "state", "age", "cost", "title", "agent", "folder"],
    ]
    assert lines(120)[1].split() == [
        *["01jx…", "waits", "for", "you:", "approve", "bash_command", "1", "min", "0.5000", "Research", "a", "/w"]
    ]


def test_on_a_terminal_the_list_is_a_table_and_hostile_text_does_not_act(
    abey, daemon: CannedDaemon, monkeypatch
) -> None:
    daemon.on["agents/sessions"] = {"items": [session(title="\x1b[2Jx\u202e")], "damaged": []}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    listed = abey("session", "list").out
    assert (listed.split()[0], "\\x1b[2Jx" in listed, "\x1b" in listed, "\u202e" in listed) == (
        "session",
        True,
        False,
        False,
    )
    assert abey("session", "list", "-q").out == f"{SESSION_ID}\n"
