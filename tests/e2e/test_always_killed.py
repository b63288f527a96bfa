"""kill -9 of the daemon at every write of an approval with *always*: the rule comes first, and is applied in the end
(machine.md, Remembered rules)."""

import json
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from support.e2e import Place, calls, deferred, kill, says
from support.e2e_crash import ALIVE, Death, Moment, Nursery
from support.e2e_peer import Gone, Peer

LATE = {"completed", "uncertain"}
"""What has become of a call that a rule lets run: done, or cut off by the death of the daemon."""


def begin(place: Place, peer: Peer, session_id: str, word: str) -> None:
    config = place.config(script=[calls(("bump", {"x": word})), says("end")], rules=[deferred("bump")])
    params = {"config": config, "prompt": "x", "cwd": str(place.work), "run": "turn", "sessionId": session_id}
    peer.request("agents/start", **params)


def state(peer: Peer, session_id: str) -> str:
    items = peer.request("agents/transcript", sessionId=session_id)["items"]
    return str(next(item["call"]["state"] for item in items if item["kind"] == "toolCall"))


def pending(peer: Peer, session_id: str) -> Any:
    return peer.request("agents/pending", sessionId=session_id)["items"][0]


def always(peer: Peer) -> None:
    call = pending(peer, "s1")
    rule = next(one for one in call["suggestions"] if one["scope"] == "user")
    shown = {"token": call["token"], "argumentsHash": call["argumentsHash"]}
    peer.request("agents/complete", **shown, outcome={"kind": "approve"}, rule=rule)


@pytest.mark.parametrize("moment", [one for one in get_args(Moment) if one != "never"])
def test_wherever_the_daemon_dies_the_rule_is_first_and_counts_in_the_end(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    for at in range(1, 10):
        place = Place(tmp_path / str(at))
        with closing(place):
            if not died(place, nursery, Death(moment, at)):
                assert at > 1, "the answer and what the rule answers elsewhere are written"
                return


def died(place: Place, nursery: Nursery, death: Death) -> bool:
    """Whether the daemon has died before all was done. Checks what is left."""
    with nursery.wake(place) as peer:
        for session_id, word in (("s1", "1"), ("s2", "1"), ("s3", "other")):
            begin(place, peer, session_id, word)
        kill(peer.pid)
    gone = True
    with nursery.wake(place, death) as peer:
        with suppress(Gone):
            always(peer)
            while state(peer, "s2") not in LATE:
                pass
            gone = False
        kill(peer.pid)
    path = place.root / "config" / "rules.json"
    kept = json.loads(path.read_text())["rules"] if path.exists() else []
    ran = place.ran()
    with nursery.wake(place, ALIVE) as peer:
        assert kept or {state(peer, "s1"), state(peer, "s2")} == {"deferred"}, "a rule decides before it is kept"
        assert place.ran() == ran, "nothing starts by itself"
        other = pending(peer, "s3")
        peer.request("agents/complete", token=other["token"], outcome={"kind": "deny"})
        while kept and not {state(peer, "s1"), state(peer, "s2")} <= LATE | {"approved", "ready"}:
            pass
        assert (state(peer, "s3"), place.ran() <= 2) == ("denied", True)
        kill(peer.pid)
    return gone
