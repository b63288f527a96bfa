"""`session diff`, and the diff of a call that is approved: what is asked for, and how it is shown."""

import json

import pytest
from support.canned_daemon import SESSION_ID, TOKEN, CannedDaemon, Refusal, completion, pending, session

PATCH = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+\x1b[2Jb\n"
SHOWN = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+\\x1b[2Jb\n"
COLOURED = "".join(
    f"\x1b[{colour}m{line}\x1b[m\n" for colour, line in zip((1, 1, 36, 31, 32), SHOWN.splitlines(), strict=True)
)
CHANGE = {"path": "f", "kind": "modified", "patch": PATCH}


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_the_patch_of_a_call_is_printed_harmless(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/diff"] = {"changes": [CHANGE]}
    assert abey("session", "diff", TOKEN) == (0, SHOWN, "")
    assert daemon.asked == [("agents/diff", {"token": TOKEN, "limit": 1000})]
    assert json.loads(abey("session", "diff", TOKEN, "--json").out) == {"changes": [CHANGE]}


def test_on_a_terminal_it_has_colours(abey, daemon: CannedDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.on["agents/diff"] = {"changes": [CHANGE]}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR")
    assert abey("session", "diff", TOKEN).out == COLOURED
    monkeypatch.setenv("NO_COLOR", "1")
    assert abey("session", "diff", TOKEN).out == SHOWN


def test_a_beginning_of_a_token_is_looked_for_before_a_session(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/diff"] = {"changes": []}
    daemon.on["agents/pending"] = {"items": [pending()]}
    assert abey("session", "diff", TOKEN[:8]) == (0, "", "no file is changed\n")
    assert daemon.asked[-1] == ("agents/diff", {"token": TOKEN, "limit": 1000})


def test_a_session_and_a_turn_of_it_can_be_named(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/diff"] = {"changes": [CHANGE]}
    turn = {"turnId": "t9", "n": 9, "startedAt": "2026-01-01T00:00:00.000Z"}
    daemon.on["agents/get"] = {"session": session(turn=turn)}
    assert abey("session", "diff", SESSION_ID).out == SHOWN
    assert abey("session", "diff", SESSION_ID, "--turn", "t1").out == SHOWN
    assert abey("session", "diff", SESSION_ID, "--turn", "@").out == SHOWN
    asked = [params for method, params in daemon.asked if method == "agents/diff"]
    whole = {"sessionId": SESSION_ID, "limit": 1000}
    assert asked == [whole, {**whole, "turnId": "t1"}, {**whole, "turnId": "t9"}]


def test_an_approval_shows_the_diff_first_and_in_colours_only_to_a_person(
    abey, daemon: CannedDaemon, monkeypatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    daemon.on["agents/pending"] = {"items": [pending(diff=PATCH)]}
    daemon.on["agents/complete"] = completion("approve")
    indented = "diff:\n" + "".join(f"  {line}\n" for line in SHOWN.splitlines())
    assert indented in abey("session", "approve", TOKEN).err
    coloured = "\x1b[2mdiff:\x1b[m\n" + "".join(f"  {line}\n" for line in COLOURED.splitlines())
    assert coloured in abey("session", "approve", TOKEN, terminal=True).err


def test_a_call_that_is_another_one_now_is_shown_as_it_is(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}

    def refuse(_: object) -> None:
        raise Refusal(-31006, "look again", kind="arguments/mismatch", argumentsHash="0" * 64, diff=PATCH)

    daemon.on["agents/complete"] = refuse
    ran = abey("session", "approve", TOKEN)
    told = f"  +\\x1b[2Jb\nhash: {'0' * 64}\nabey: look again (arguments/mismatch)\n"
    assert (ran.code, ran.err.endswith(told)) == (5, True)
