"""Turns that are ended while the code of an extension runs: whether that listens or not."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.e2e import Place, calls, says, until
from support.e2e_journal import read
from support.e2e_peer import Peer
from support.extensions import ROOT, install_module
from support.moments import FINAL, SOON_SECONDS, Turn

SLEEPER = ROOT / "tests" / "data" / "extensions" / "sleeper.py"
REST = calls(("rest", {}))
WISHES = {"before": (), "after": (), "capability": (), "capability signal": (), "tool": (REST,)}
GRACE_SECONDS = 1


@pytest.fixture
def turn(machine: Place) -> Iterator[Turn]:
    install_module(machine, SLEEPER.read_text(), "sleeper = sleeper:Sleeper", package="sleeper")
    with machine.peer("watcher") as watcher, machine.peer("driver") as driver:
        yield Turn(machine, watcher, driver)


def reach(turn: Turn, wish: str, *script: Any) -> str:
    (turn.place.work / "wish").write_text(wish)
    config = turn.place.config(script=[*script, says("next"), says("next")], tools=[])
    turn.begin({**config, "limits": {"stopGraceSeconds": GRACE_SECONDS}}, "run")
    until((turn.place.work / "there").exists, f"for the extension to wait: {wish}")
    (turn.place.work / "wish").unlink()
    return str(turn.session()["turn"]["turnId"])


def close(peer: Peer, how: str, seconds: float = SOON_SECONDS) -> Any:
    began = time.monotonic()
    closed = peer.request(f"agents/{how}", sessionId="s1")
    assert time.monotonic() - began < seconds
    return closed


def check_nothing_is_late(turn: Turn, first: str) -> None:
    ended = [one["turnId"] for one in turn.events() if one["event"]["type"] == "turn/completed"]
    assert ended.count(first) == 1
    events = [one for one in turn.events() if one.get("turnId") == first]
    assert events[-1]["event"]["type"] == "turn/completed"
    assert all(call["state"] in FINAL for call in turn.calls())


@pytest.mark.parametrize("wish", WISHES)
def test_a_cancel_ends_what_an_extension_does_and_the_next_turn_begins(turn: Turn, wish: str) -> None:
    first = reach(turn, wish, *WISHES[wish])
    assert close(turn.watcher, "cancel")["applied"]
    (turn.place.work / "go").touch()  # what is being made for the session goes on: the next turn has it
    began = time.monotonic()
    done = turn.watcher.request("agents/send", sessionId="s1", prompt="go on", run="turn")
    assert (done["session"]["output"], time.monotonic() - began < SOON_SECONDS) == ("next", True)
    check_nothing_is_late(turn, first)
    close(turn.watcher, "stop")
    assert (turn.place.work / "disposed").exists() == ("capability" in wish)


@pytest.mark.parametrize("wish", ["deaf before", "deaf after", "deaf tool"])
def test_what_does_not_listen_is_left_behind_after_its_time_and_comes_too_late(turn: Turn, wish: str) -> None:
    first = reach(turn, wish, *WISHES[wish.split()[-1]])
    assert close(turn.watcher, "cancel", GRACE_SECONDS + SOON_SECONDS)["applied"]
    done = turn.watcher.request("agents/send", sessionId="s1", prompt="go on", run="turn")
    assert done["session"]["output"] == "next"
    before = [line.record for line in read(turn.place.journal("s1"))]
    (turn.place.work / "go").touch()
    until((turn.place.work / "woken").exists, "for what comes too late")
    until(lambda: "stale-result" in [one["event"]["type"] for one in turn.events()], "for news of it")
    assert [line.record for line in read(turn.place.journal("s1"))] == before
    check_nothing_is_late(turn, first)


@pytest.mark.parametrize("wish", WISHES)
def test_a_stop_ends_what_an_extension_does_and_makes(turn: Turn, wish: str) -> None:
    first = reach(turn, wish, *WISHES[wish])
    if wish == "capability":  # what is being made ends when it can, which a stop waits for
        asked = turn.watcher.start("agents/stop", sessionId="s1")
        until(lambda: turn.place.journal("s1").read_text().count('"type":"stopped"'), "for the stop")
        (turn.place.work / "go").touch()
        assert turn.watcher.answer(asked)["session"]["state"] == "stopped"
    else:
        assert close(turn.watcher, "stop")["session"]["state"] == "stopped"
    check_nothing_is_late(turn, first)
    assert (turn.place.work / "disposed").exists() == ("capability" in wish)


def test_a_making_that_does_not_listen_holds_up_a_stop_for_its_time_and_is_disposed_when_it_comes(turn: Turn) -> None:
    reach(turn, "deaf capability")
    assert close(turn.watcher, "stop", 5 + GRACE_SECONDS + SOON_SECONDS)["session"]["state"] == "stopped"
    assert not (turn.place.work / "disposed").exists()
    (turn.place.work / "go").touch()
    until((turn.place.work / "disposed").exists, "for what comes too late to be disposed")
