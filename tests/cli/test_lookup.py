"""Prefixes, `@`, and which agent is meant."""

import json
from pathlib import Path

import pytest
from support.canned_daemon import (
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    completion,
    pending,
    session,
)

OTHER_ID = "01jx0000000000000000000abd"


def listing(slug: str, state: str = "ok") -> dict[str, object]:
    path = f"/agents/{slug}.json"
    return {"slug": slug, "path": path, "description": "", "state": state, "envNames": [], "diagnostics": []}


def shown(daemon: CannedDaemon) -> list[str]:
    return [params["sessionId"] for params in daemon.params("agents/get")]


@pytest.fixture
def two(daemon: CannedDaemon, work: Path) -> CannedDaemon:
    """Two sessions, the other one later and elsewhere."""
    here = session(cwd=str(work))
    later = session(sessionId=OTHER_ID, cwd=str(work / "sub"), createdAt="2025-11-29T13:00:00.000Z")
    daemon.on["agents/sessions"] = {"items": [here, later, session(sessionId="mine", cwd="/else")]}
    daemon.on["agents/get"] = lambda params: {"session": session(sessionId=params["sessionId"])}
    return daemon


def test_the_agent_is_one_of_the_folder_that_the_session_is_for(abey, daemon: CannedDaemon, work: Path) -> None:
    (work / "other").mkdir()
    daemon.on["agents/list"] = {"items": [listing("theirs")], "untrusted": []}
    daemon.on["agents/start"] = session()
    abey("session", "start", "--cwd", "other", "-p", "x")
    assert daemon.params("agents/list") == [{"cwd": str(work / "other")}]
    assert [one["agent"] for one in daemon.params("agents/start")] == ["theirs"]


def test_a_whole_id_is_not_looked_up(abey, two: CannedDaemon) -> None:
    abey("session", "show", SESSION_ID)
    asked = {"sessionId": SESSION_ID}
    assert two.asked == [("agents/get", asked), ("agents/transcript", asked)]


@pytest.mark.parametrize(
    ("given", "meant"),
    [(SESSION_ID[:-1] + "c", SESSION_ID), ("mi", "mine"), ("mi…", "mine"), ("mine", "mine"), ("nosuch", "nosuch")],
)
def test_a_unique_prefix_is_enough_and_an_unknown_id_is_passed_on(abey, two: CannedDaemon, given, meant) -> None:
    assert abey("session", "show", given).code == 0
    assert shown(two) == [meant]


def test_an_ambiguous_prefix_is_exit_2(abey, two: CannedDaemon) -> None:
    assert abey("session", "show", "01jx") == (
        2,
        "",
        f"abey: '01jx' begins 2 sessions: {SESSION_ID}, {OTHER_ID}\n",
    )


def test_at_is_the_latest_session_of_this_very_folder(abey, two: CannedDaemon, work: Path) -> None:
    assert abey("session", "show", "@").code == 0
    assert (shown(two), two.params("agents/sessions")) == ([SESSION_ID], [{"under": [str(work)], "limit": 1000}])


def test_at_is_no_session_that_another_session_made(abey, two: CannedDaemon, work: Path) -> None:
    here = [session(cwd=str(work)), session(sessionId=OTHER_ID, cwd=str(work), createdAt="2027", parent=SESSION_ID)]
    two.on["agents/sessions"] = {"items": here}
    assert abey("session", "show", "@").code == 0
    assert shown(two) == [SESSION_ID]


def test_at_in_a_folder_without_sessions_is_exit_4(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/sessions"] = {"items": []}
    said = f"abey: no session in {work} (session/unknown); `abey session list` has those there are\n"
    assert abey("session", "show", "@") == (4, "", said)


@pytest.mark.parametrize("given", [TOKEN, TOKEN[:8], f"{TOKEN[:12]}…", TOKEN.upper(), TOKEN[:8].upper()])
def test_a_token_may_be_a_prefix_of_8_characters(abey, daemon: CannedDaemon, given: str) -> None:
    daemon.on["agents/pending"] = {"items": [pending(), pending(token="7" * 32)]}
    daemon.on["agents/complete"] = completion("deny")
    assert abey("session", "deny", given).code == 0
    assert daemon.params("agents/complete")[0]["token"] == TOKEN


def test_an_unknown_token_is_the_daemons_to_refuse(abey, daemon: CannedDaemon) -> None:
    def unknown(params: dict[str, object]) -> object:
        raise Refusal(-31005, f"no call has the token {params['token']}", kind="token/unknown")

    daemon.on["agents/pending"] = {"items": [pending()]}
    daemon.on["agents/complete"] = unknown
    assert abey("session", "deny", "nosuchtoken").code == 4
    assert [params["token"] for params in daemon.params("agents/complete")] == ["nosuchtoken"]


def test_a_short_token_is_unknown_and_says_how_long_it_must_be(abey, daemon: CannedDaemon) -> None:
    told = f"abey: {TOKEN[:7]!r} is too short for a token: at least 8 characters of it (token/unknown); "
    hint = "`abey session pending` has those that wait\n"
    assert abey("session", "deny", TOKEN[:7]) == (4, "", told + hint)
    assert daemon.asked == []


@pytest.mark.parametrize(
    ("options", "env", "found", "meant"),
    [
        (("--agent", "x"), "y", ["a"], {"agent": "x"}),
        ((), "y", ["a"], {"agent": "y"}),
        ((), "", ["a", "default"], {"agent": "default"}),
        ((), "", ["a"], {"agent": "a"}),
    ],
)
def test_the_agent_is_the_first_that_is_named(
    abey, daemon: CannedDaemon, monkeypatch, options, env, found, meant
) -> None:
    monkeypatch.setenv("ABEY_AGENT", env)
    daemon.on["agents/list"] = {"items": [listing(slug) for slug in found], "untrusted": []}
    daemon.on["agents/start"] = session()
    assert abey("session", "start", *options, "-p", "x").code == 0
    [params] = daemon.params("agents/start")
    assert {name: params[name] for name in ("agent", "agentFile") if name in params} == meant


def test_several_agents_are_listed_with_exit_2(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/list"] = {"items": [listing("b"), listing("a"), listing("c", "invalid")], "untrusted": []}
    said = "which agent? --agent SLUG, one of: a, b; or --agent-file FILE; `abey demo` shows one at work"
    assert abey("run", "-p", "x") == (2, "", f"abey: {said}\n")
    error = {"code": 0, "message": said, "data": {"kind": "usage"}}
    assert json.loads(abey("run", "-p", "x", "--json").out) == {"error": error}


def test_no_agent_at_all_names_what_helps(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/list"] = {"items": [listing("c", "invalid")], "untrusted": []}
    ran = abey("run", "-p", "x")
    assert (ran.code, "abey agents check /agents/c.json" in ran.err, "abey demo" in ran.err) == (2, True, True)
