"""`abey session list`: what is asked for, how much of it, and what is printed."""

import json

import pytest
from support.canned_daemon import SESSION_ID, CannedDaemon, session

LINE = f"{SESSION_ID}  userTurn  a  Research  /w\n"


def test_list_asks_for_what_the_options_say(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/sessions"] = {"items": [session()], "damaged": []}
    options = ["--agent", "a", "--state", "userTurn", "--attention", "none", "--archived"]
    assert abey("session", "list", "warm par", *options) == (0, LINE, "")
    assert abey("session", "list") == (0, LINE, "")
    wanted = {"query": "warm par", "agent": "a", "state": "userTurn", "attention": "none", "archived": True}
    assert daemon.params("agents/sessions") == [{**wanted, "limit": 1000}, {"limit": 1000}]


@pytest.mark.parametrize(
    ("options", "shown", "asked"), [([], 5, 3), (["--limit", "3"], 3, 2), (["--limit", "2"], 2, 1)]
)
def test_list_takes_no_more_pages_than_it_needs(abey, daemon: CannedDaemon, options, shown, asked) -> None:
    sessions = [session(sessionId=f"s{number}") for number in range(5)]

    def page(params: dict[str, object]) -> dict[str, object]:
        start = int(str(params.get("cursor", "0")))
        more = {"nextCursor": str(start + 2)} if start + 2 < len(sessions) else {}
        return {"items": sessions[start : start + 2], "damaged": [], **more}

    daemon.on["agents/sessions"] = page
    assert abey("session", "list", "-q", *options).out.split() == [f"s{number}" for number in range(shown)]
    assert len(daemon.params("agents/sessions")) == asked


def test_a_search_that_finds_nothing_says_so_on_stderr(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/sessions"] = {"items": [], "damaged": []}
    assert abey("session", "list", "nowhere") == (0, "", "no session is like that\n")
    assert abey("session", "list") == (0, "", "no session yet\n")
    assert json.loads(abey("session", "list", "nowhere", "--json").out) == {"items": [], "damaged": []}


def test_list_refuses_a_state_that_there_is_not(abey, daemon: CannedDaemon) -> None:
    ran = abey("session", "list", "--state", "busy")
    assert (ran.code, ran.out, daemon.asked) == (2, "", [])
    assert "userTurn" in ran.err
