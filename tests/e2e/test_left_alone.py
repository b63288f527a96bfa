"""A daemon that was used and is left alone has no session in memory, and nobody can tell (machine.md, Sessions at
rest)."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.e2e import PROGRAMS, Place, calls, deferred, says, until
from support.e2e_peer import Peer

SESSIONS = 100


@contextmanager
def serving(place: Place) -> Iterator[Peer]:
    """A client of a daemon of which sessions leave memory that nobody has used for a second."""
    daemon = subprocess.Popen([str(PROGRAMS / "abey-daemon"), "--rest-after", "1"], env=place.env)
    try:
        with until(place.reach, "for the daemon") as peer:
            yield peer
    finally:
        daemon.terminate()
        daemon.wait()


def loaded(peer: Peer) -> int:
    return int(peer.request("agents/status")["sessions"]["loaded"])


def everybody_left(peer: Peer) -> None:
    until(lambda: loaded(peer) == 0, "until all sessions have left memory")


def start(peer: Peer, place: Place, number: int) -> Any:
    """The answer to a request with a key: the session waits for an approval."""
    config = place.config(script=[calls(("bump", {"x": str(number)})), says("done")], rules=[deferred("bump")])
    params = {"config": config, "cwd": str(place.work), "prompt": "go", "run": "turn"}
    return peer.request("agents/start", **params, idempotencyKey=f"start {number}")


def numbers(peer: Peer, session_id: str, after: int = 0) -> list[int]:
    told = peer.request("agents/events", sessionId=session_id, after=after, limit=1000)
    return [event["seq"] for event in told["events"]]


def test_a_hundred_sessions_leave_memory_and_each_goes_on_where_it_was(machine: Place) -> None:
    with serving(machine) as peer:
        before = [start(peer, machine, number) for number in range(SESSIONS)]
        pending = peer.request("agents/pending", limit=1000)["items"]
        listed = peer.request("agents/sessions", limit=200)
        last = {one["sessionId"]: len(numbers(peer, one["sessionId"])) for one in before}
        heard = len(peer.heard)
        everybody_left(peer)
        assert peer.request("agents/pending", limit=1000)["items"] == pending
        assert peer.request("agents/sessions", limit=200) == listed
        assert (loaded(peer), len(pending), peer.heard[heard:]) == (0, SESSIONS, [])
        again = [start(peer, machine, number) for number in range(SESSIONS)]
        assert again == [{**one, "replayed": True} for one in before]
        everybody_left(peer)
        for call in pending:
            outcome = {"kind": "approve"}
            shown = {"token": call["token"], "argumentsHash": call["argumentsHash"]}
            done = peer.request("agents/complete", **shown, outcome=outcome, resume=True)
            assert (done["applied"], done["session"]["state"], done["session"]["output"]) == (True, "completed", "done")
            first, *_ = numbers(peer, call["sessionId"], last[call["sessionId"]])
            assert first == last[call["sessionId"]] + 1
        assert machine.ran() == SESSIONS
        everybody_left(peer)


def test_who_is_attached_hears_what_comes_after_a_rest_and_is_replayed_what_it_missed(machine: Place) -> None:
    with serving(machine) as peer:
        attached, missed = start(peer, machine, 1)["sessionId"], start(peer, machine, 2)["sessionId"]
        seq = peer.request("agents/attach", sessionId=attached)["seq"]
        known = len(numbers(peer, missed))
        until(lambda: loaded(peer) == 1, "until the other one has left")
        heard = len(peer.heard)
        for call in peer.request("agents/pending")["items"]:
            deny = {"token": call["token"], "outcome": {"kind": "deny"}}
            peer.request("agents/complete", **deny, resume=True)
        told = [one["params"] for one in peer.heard[heard:] if one["method"] == "agents/event"]
        assert [one["seq"] for one in told] == list(range(seq + 1, seq + 1 + len(told)))
        assert {one["sessionId"] for one in told} == {attached}
        until(lambda: loaded(peer) == 1, "until the other one has left again")
        replay = peer.request("agents/attach", sessionId=missed, after=known)
        assert [one["seq"] for one in replay["replay"]] == list(range(known + 1, replay["seq"] + 1))
        assert (len(replay["replay"]) > 0, "snapshot" in replay) == (True, False)
        for session_id in (attached, missed):
            peer.request("agents/detach", sessionId=session_id)
        everybody_left(peer)


def test_a_parent_and_its_child_rest_and_the_answer_to_the_child_moves_both(machine: Place) -> None:
    """After a restart nobody works on the child; until then its parent does, and both stay."""
    kid = machine.config(name="kid", script=[calls(("bump", {})), says("bumped it")], rules=[deferred("bump")])
    (machine.agents / "kid.json").write_text(json.dumps(kid))
    tools = [*machine.tools(), {"kind": "agent", "name": "kid", "agent": "kid"}]
    boss = machine.config(script=[calls(("kid", {"prompt": "bump"})), says("all done")], tools=tools)
    with serving(machine) as peer:
        boss_id = peer.request("agents/start", config=boss, prompt="go", cwd=str(machine.work), run="turn")["sessionId"]
        until(lambda: [one for one in peer.request("agents/pending")["items"] if one["kind"] == "approval"])
    with serving(machine) as peer:
        [call] = [one for one in peer.request("agents/pending")["items"] if one["kind"] == "approval"]
        shown = peer.request("agents/get", sessionId=boss_id)
        everybody_left(peer)
        assert peer.request("agents/get", sessionId=boss_id) == shown
        everybody_left(peer)
        bound = {"token": call["token"], "argumentsHash": call["argumentsHash"]}
        peer.request("agents/complete", **bound, outcome={"kind": "approve"}, resume=True)
        everybody_left(peer)
        done = peer.request("agents/run", sessionId=boss_id, until="turn")["session"]
        assert (done["state"], done["output"], machine.ran()) == ("completed", "all done", 1)
        everybody_left(peer)
