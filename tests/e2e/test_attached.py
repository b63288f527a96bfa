"""Attached to a session: all of it, once and in order, whoever drives it, over restarts (protocol.md)."""

from typing import Any

from support.e2e import Place, calls, deferred, says
from support.e2e_peer import Peer


def started(place: Place, **config: Any) -> Any:
    return place.rpc("agents/start", config=place.config(**config), prompt="x", cwd=str(place.work))


def heard(peer: Peer, until: int) -> list[dict[str, Any]]:
    """The events that come, up to the one with that number."""
    events: list[dict[str, Any]] = []
    while not events or events[-1].get("seq") != until:
        events.append(peer.hear("agents/event"))
    return events


def last_seq(peer: Peer, session_id: str) -> int:
    page = peer.request("agents/events", sessionId=session_id, after=0, limit=1000)
    return int(page["nextSeq"]) - 1


def test_two_clients_hear_the_same_of_what_a_third_does(place: Place) -> None:
    session = started(place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    named = session["sessionId"]
    with place.peer("one") as one, place.peer("two") as two:
        attached = [peer.request("agents/attach", sessionId=named) for peer in (one, two)]
        place.abey("run", "--session", named, code=3)
        [call] = place.rpc("agents/pending", sessionId=named)["items"]
        place.abey("session", "approve", call["token"], "--hash", call["argumentsHash"], "--resume")
        last = last_seq(one, named)
        stories = [heard(peer, last) for peer in (one, two)]
        assert stories[0] == stories[1]
        first = attached[0]["seq"]
        assert [event["seq"] for event in stories[0]] == list(range(first + 1, last + 1))
        kept = one.request("agents/events", sessionId=named, after=first, limit=1000)["events"]
        assert stories[0] == kept
        assert attached[0]["snapshot"]["session"]["sessionId"] == named
        assert [item["kind"] for item in attached[0]["snapshot"]["items"]] == ["input"]


def test_after_a_crash_a_client_gets_exactly_what_it_missed(place: Place) -> None:
    session = started(place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    named = session["sessionId"]
    with place.peer("one") as one:
        seen = one.request("agents/attach", sessionId=named)["seq"]
    place.abey("session", "step", named)
    place.kill_daemon()
    place.abey("session", "step", named)
    with place.peer("one") as one:
        again = one.request("agents/attach", sessionId=named, after=seen)
        assert "snapshot" not in again
        assert [event["seq"] for event in again["replay"]] == list(range(seen + 1, again["seq"] + 1))
        assert again["replay"] == one.request("agents/events", sessionId=named, after=seen, limit=1000)["events"]
        beyond = one.request("agents/attach", sessionId=named, after=again["seq"] + 5)
        assert (beyond["replay"], beyond["snapshot"]["session"]["sessionId"]) == ([], named)
        every = one.request("agents/attach", sessionId="*", after={named: seen})
        assert every["replay"] == again["replay"]
        assert one.request("agents/detach", sessionId="*") == {}


def test_an_answer_streams_to_who_asked_and_is_then_told_whole(place: Place) -> None:
    entry = {**says("one two three four five six"), "thinking": "let me see", "chunkMs": 100}
    named = started(place, script=[entry])["sessionId"]
    with place.peer("one") as one:
        one.request("agents/attach", sessionId=named, deltas=True)
        one.request("agents/step", sessionId=named)
        events = [event["event"] for event in heard(one, last_seq(one, named))]
    deltas = [event for event in events if event["type"] == "item/delta"]
    whole = {
        event["item"]["itemId"]: (event["item"]["kind"], event["item"]["text"])
        for event in events
        if event["type"] == "item/completed"
    }
    assert len(deltas) > 2
    for kind in ("thinking", "answer"):
        pieces = [delta for delta in deltas if delta["kind"] == kind]
        text = "".join(piece["text"] for piece in pieces)
        assert [piece["offset"] for piece in pieces] == [
            sum(len(piece["text"]) for piece in pieces[:index]) for index in range(len(pieces))
        ]
        shown_kind, shown = whole[pieces[0]["itemId"]]
        assert (shown_kind, shown.startswith(text)) == (kind, True)
