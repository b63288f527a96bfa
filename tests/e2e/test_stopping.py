"""Who waits for a session is answered when it is ended, and a daemon that drains lets turns be ended."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_peer import Peer, Refusal

SLOW = calls(("slow", {}))


@pytest.fixture
def peer(place: Place) -> Iterator[Peer]:
    with place.peer() as peer:
        yield peer


def started(place: Place, peer: Peer, *script: Any, **more: Any) -> None:
    config = place.config(script=[*script, says("next")], **more)
    peer.request("agents/start", sessionId="s1", config=config, prompt="go", cwd=str(place.work))


def events(peer: Peer) -> list[tuple[str, Any]]:
    told = peer.request("agents/events", sessionId="s1")["events"]
    return [(one["event"]["type"], one["event"].get("inputId")) for one in told]


def test_everybody_who_waits_is_answered_when_the_session_is_stopped(place: Place, peer: Peer) -> None:
    started(place, peer, calls(("slow", {}), ("bump", {})), rules=[deferred("slow")])
    peer.request("agents/run", sessionId="s1")
    [call] = peer.request("agents/pending", sessionId="s1")["items"]
    with place.peer("others") as other:
        bound = {"token": call["token"], "argumentsHash": call["argumentsHash"], "outcome": {"kind": "approve"}}
        approving = other.start("agents/complete", **bound, idempotencyKey="approve")
        until(lambda: place.ran() == 2, "for the approved call")
        running = other.start("agents/run", sessionId="s1", until="turn", idempotencyKey="run")
        sent = {"sessionId": "s1", "prompt": "never", "delivery": "queue", "run": "turn", "idempotencyKey": "send"}
        sending = other.start("agents/send", **sent)
        until(lambda: peer.request("agents/get", sessionId="s1")["session"]["queued"], "for the queue")
        stopped = peer.request("agents/stop", sessionId="s1", reason="enough", idempotencyKey="stop")
        assert (stopped["applied"], stopped["session"]["queued"]) == (True, [])
        approved, queued = other.answer(approving), other.answer(sending)
        assert (approved["applied"], other.answer(running)["outcome"]) == (True, "cancelled")
        assert [one for one in events(peer) if one[0] == "input/stopped"] == [("input/stopped", queued["inputId"])]
        assert peer.request("agents/send", **sent)["inputId"] == queued["inputId"]
    again = peer.request("agents/stop", sessionId="s1", reason="enough", idempotencyKey="stop")
    assert (again["applied"], again["replayed"]) == (True, True)
    assert peer.request("agents/stop", sessionId="s1", idempotencyKey="another")["applied"] is False
    [ended] = [one["data"] for one in _records(place) if one["type"] == "stopped"]
    assert ended["cancelledCalls"] == [{"callId": call["callId"], "token": call["token"]}]


def _records(place: Place) -> list[Any]:
    return [json.loads(line[9:]) for line in place.journal("s1").read_text().splitlines()]


def test_a_cancel_that_names_an_ended_turn_ends_no_other(place: Place, peer: Peer) -> None:
    started(place, peer, says("first"), SLOW)
    first = peer.request("agents/run", sessionId="s1")["session"]["turn"]
    peer.request("agents/send", sessionId="s1", prompt="again", run="turn", wait=False)
    until(lambda: place.ran() == 1, "for the tool")
    late = peer.request("agents/cancel", sessionId="s1", turnId=first["turnId"])
    assert (late["applied"], late["session"]["activity"]) == (False, "tools")
    assert peer.request("agents/cancel", sessionId="s1")["applied"]


def test_a_turn_can_be_cancelled_while_the_daemon_drains_which_then_ends(place: Place, peer: Peer) -> None:
    started(place, peer, SLOW)
    peer.request("agents/send", sessionId="s1", prompt="later", delivery="queue")
    with place.peer("driver") as driver:
        running = driver.start("agents/run", sessionId="s1")
        until(lambda: place.ran() == 1, "for the tool")
        with place.peer("other") as other:
            other.start("agents/shutdown", mode="drain")
            peer.hear("agents/daemon")
            # both at once, for with the cancel the daemon has nothing to wait for
            cancel, late = (peer.start(f"agents/{how}", sessionId="s1") for how in ("cancel", "run"))
            cancelled = peer.answer(cancel)
            assert (cancelled["applied"], cancelled["session"]["turn"]["n"]) == (True, 2)
            assert driver.answer(running)["outcome"] == "paused"
            with pytest.raises(Refusal) as refused:
                peer.answer(late)
            assert refused.value.kind == "daemon/draining"
            assert peer.ended()
    session = place.session("s1")
    assert (session["state"], session["activity"], session["turn"]["n"]) == ("userTurn", "idle", 2)
    assert place.rpc("agents/run", sessionId="s1")["session"]["output"] == "next"
