"""Denied, cancelled, expired and disconnected are four things, for people, for programs and for the model."""

from typing import Any

from support.e2e import Place, calls, says, until
from support.e2e_peer import Peer

ASKED = [("bump", {"x": word}) for word in ("denied", "cancelled", "expires", "left")]
RULES = [
    {"tool": "bump", "match": {"/x": "expires"}, "disposition": {"tag": "defer", "expireSeconds": 1}},
    {"tool": "bump", "disposition": "defer"},
]


def started(place: Place, peer: Peer) -> Any:
    config = place.config(script=[calls(*ASKED), says("end")], rules=RULES)
    return peer.request("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")


def told(place: Place, session_id: str) -> dict[str, tuple[str, str]]:
    """The state of each call, and what the model is told of it."""
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    found = [item["call"] for item in items if item["kind"] == "toolCall"]
    return {call["arguments"]["x"]: (call["state"], call.get("output")) for call in found}


def test_denied_cancelled_expired_and_disconnected_stay_four_things(place: Place) -> None:
    with place.peer("goes") as goes:
        session = started(place, goes)
        tokens = {call["arguments"]["x"]: call["token"] for call in session["pending"]}
    session_id = session["sessionId"]

    def answer(word: str, outcome: Any) -> Any:
        return place.rpc("agents/complete", token=tokens[word], outcome=outcome)

    answer("denied", {"kind": "deny", "message": "not today"})
    answer("cancelled", {"kind": "cancel"})
    until(lambda: told(place, session_id)["expires"][0] == "expired")
    assert told(place, session_id) == {
        "denied": ("denied", "denied by user: not today"),
        "cancelled": ("cancelled", "cancelled by user; it was not run"),
        "expires": ("expired", "nobody answered in time; the call was not run"),
        "left": ("deferred", None),
    }
    kinds = [answer(word, {"kind": "deny"})["resolution"]["kind"] for word in ("denied", "cancelled", "expires")]
    assert (kinds, place.ran()) == (["deny", "cancel", "expired"], 0)
    assert [call["token"] for call in place.session(session_id)["pending"]] == [tokens["left"]]


def test_a_client_that_vanishes_in_the_middle_of_an_approval_leaves_the_call_or_its_result_and_no_third_thing(
    place: Place,
) -> None:
    """It hangs up right after it asked: either the daemon had heard it, and the call runs, or the call waits on."""
    for _ in range(10):
        with place.peer("goes") as goes:
            session = started(place, goes)
            call = session["pending"][3]
            approve = {"token": call["token"], "argumentsHash": call["argumentsHash"], "outcome": {"kind": "approve"}}
            goes.start("agents/complete", **approve)
        seen = [told(place, session["sessionId"])["left"]]
        while seen[-1][0] in ("approved", "running"):
            seen.append(told(place, session["sessionId"])["left"])
        assert seen[-1] in (("completed", "bumped\n"), ("deferred", None))
