"""A turn that is ended at any point is over: soon, whole, with nothing left running, through the installed programs.

Each of the ways to end it is tried at each moment of support/moments.py.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, says, until
from support.e2e_crash import Nursery
from support.e2e_peer import Refusal
from support.moments import FINAL, MOMENTS, SOON_SECONDS, Moment, Turn

NEXT = '"next"'
"""The answer of the next turn, which is JSON, too."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A machine whose daemon is that of many turns, one after another."""
    with closing(Place(tmp_path_factory.mktemp("fifty") / "machine")) as machine:
        yield machine


@pytest.fixture
def turn(shared: Place, nursery: Nursery) -> Iterator[Turn]:
    if shared.daemon_pid() is None:
        nursery.wake(shared).close()
    number = len(list(shared.root.iterdir()))
    place = shared.with_work(f"work-{number}")
    with place.peer("watcher") as watcher, place.peer("driver") as driver:
        yield Turn(place, watcher, driver, f"s{number}")


@pytest.fixture(params=MOMENTS, ids=lambda moment: moment.name.replace(" ", "-"))
def reached(request: pytest.FixtureRequest, turn: Turn) -> tuple[Turn, Moment]:
    moment: Moment = request.param
    config = turn.place.config(script=[*moment.script, says(NEXT)], rules=moment.rules)
    schema = {} if moment.output_schema is None else {"outputSchema": moment.output_schema}
    turn.begin({**config, **schema, "tools": moment.tools(turn.place)}, moment.run)
    until(lambda: moment.reached(turn), f"for the moment {moment.name}")
    return turn, moment


def close(turn: Turn, method: str, **more: Any) -> Any:
    """The answer, which comes soon."""
    began = time.monotonic()
    closed = turn.watcher.request(method, sessionId=turn.session_id, **more)
    assert time.monotonic() - began < SOON_SECONDS
    return closed


def test_a_cancel_ends_the_turn_and_the_next_one_begins(reached: tuple[Turn, Moment]) -> None:
    turn, moment = reached
    first = turn.session()["turn"]
    closed = close(turn, "agents/cancel", turnId=first["turnId"])
    assert (closed["applied"], closed["session"]["turn"]["end"]) == (True, "cancelled")
    assert close(turn, "agents/cancel", turnId=first["turnId"])["applied"] is False
    turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="go on")
    check_next(turn, first["turnId"])
    check_end(turn, moment)


def test_what_was_sent_meanwhile_begins_the_next_turn(reached: tuple[Turn, Moment]) -> None:
    turn, moment = reached
    before = turn.session()
    delivery = ("queue", "interrupt", "turn")[MOMENTS.index(moment) % 3]
    sent = turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="and this", delivery=delivery)
    joined = not sent["session"]["queued"]
    assert joined == (before["state"] == "userTurn" and before["activity"] == "idle" and delivery == "turn")
    assert close(turn, "agents/cancel")["applied"]
    if joined:
        turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="and this")
    assert turn.session()["turn"]["n"] == 2
    check_next(turn, before["turn"]["turnId"], by_itself=before["activity"] != "idle")
    check_end(turn, moment)


def test_a_client_that_goes_ends_nothing_and_another_one_can(reached: tuple[Turn, Moment]) -> None:
    turn, moment = reached
    before = turn.session()
    turn.driver.hang_up()
    until(lambda: turn.watcher.request("agents/status")["clients"] == 1, "for the client to be gone")
    left = turn.session()
    told = [{name: one.get(name) for name in ("state", "activity", "turn")} for one in (before, left)]
    assert told[0] == told[1]
    assert close(turn, "agents/cancel")["applied"]
    turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="go on")
    check_next(turn, before["turn"]["turnId"])
    check_end(turn, moment)


def test_a_stop_ends_all_at_once_and_for_good(reached: tuple[Turn, Moment], nursery: Nursery) -> None:
    turn, _ = reached
    first = turn.session()["turn"]
    turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="never", delivery="queue")
    open_calls = {one["callId"]: one["token"] for one in turn.pending()}
    began = time.monotonic()
    ways = ("cancel", "stop", "stop", "cancel")
    asked = [turn.watcher.start(f"agents/{how}", sessionId=turn.session_id) for how in ways]
    answers = [turn.watcher.answer(one) for one in asked]
    assert time.monotonic() - began < 2 * SOON_SECONDS
    assert turn.processes() == []
    assert {one["session"]["state"] for one in answers[1:]} == {"stopped"}
    with pytest.raises(Refusal) as refused:
        turn.watcher.request("agents/send", sessionId=turn.session_id, prompt="x")
    assert refused.value.kind == "session/stopped"
    check_order(turn, first["turnId"])
    for call_id, token in open_calls.items():
        with pytest.raises(Refusal) as dead:
            turn.watcher.request("agents/complete", token=token, outcome={"kind": "cancel"})
        assert (dead.value.kind, call_id) == ("session/stopped", call_id)
    check_replay(turn, nursery)


def check_next(turn: Turn, first: str, *, by_itself: bool = False) -> None:
    """The next turn begins, and is answered by a model that refuses a history in which a call is not closed once."""
    began = time.monotonic()
    if not by_itself:
        turn.go_on()
    until(lambda: turn.session()["activity"] != "idle" or _answered(turn), "for the next turn")
    assert time.monotonic() - began < SOON_SECONDS
    until(lambda: _answered(turn), "for the answer of the next turn")
    check_order(turn, first)
    assert turn.session()["output"] == NEXT
    assert all(call["state"] in FINAL for call in turn.calls())


def _answered(turn: Turn) -> bool:
    last = turn.session()["turn"]
    return last["n"] >= 2 and last.get("end") == "answered"


def check_order(turn: Turn, first: str) -> None:
    """What belongs to the first turn comes before its end; every call of it has one result."""
    events = turn.events()
    ends = [at for at, one in enumerate(events) if one["event"]["type"] == "turn/completed" and one["turnId"] == first]
    assert len(ends) == 1, events
    items = {one["event"]["item"]["itemId"] for one in events if "item" in one["event"] and one["turnId"] == first}
    late = [one for one in events[ends[0] + 1 :] if one.get("turnId") == first or one["event"].get("itemId") in items]
    assert [one["event"] for one in late] == []
    lines = e2e_journal.read(turn.place.journal(turn.session_id))
    finished = [line.data["callId"] for line in lines if line.type == "call-finished"]
    assert len(finished) == len(set(finished))


def check_end(turn: Turn, moment: Moment) -> None:
    """Of the turn nothing runs, and after the stop of the session nothing at all."""
    assert len(turn.processes()) <= moment.keeps
    turn.watcher.request("agents/stop", sessionId=turn.session_id)
    assert turn.processes() == []


def check_replay(turn: Turn, nursery: Nursery) -> None:
    shown = ("state", "revision", "turn", "pending", "queued", "usage", "children")
    before = turn.session()
    turn.place.kill_daemon()
    with closing(nursery.wake(turn.place)) as peer:
        after = peer.request("agents/get", sessionId=turn.session_id)["session"]
    assert {name: after.get(name) for name in shown} == {name: before.get(name) for name in shown}
