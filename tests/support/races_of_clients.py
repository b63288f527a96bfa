"""Two clients of a real daemon that answer one call in the same moment."""

from collections import Counter
from random import Random
from typing import Any

from support.e2e import Place, calls, command, deferred, says, until
from support.e2e_peer import Peer

WORD = {"type": "object", "properties": {"x": {"type": "string"}}}
NO = {"kind": "deny", "message": "no"}
PAIRS: dict[str, tuple[Any, Any]] = {
    "approve against approve": ({"kind": "approve"}, {"kind": "approve"}),
    "approve against deny": ({"kind": "approve"}, NO),
    "approve against result": ({"kind": "approve"}, {"kind": "result", "content": "from outside"}),
    "approve against cancel": ({"kind": "approve"}, None),
}
"""What ann and bob say; None is the end of the turn."""


def race(place: Place, pair: str, rounds: int, chance: Random) -> list[str]:
    """What was wrong in so many races, each in a session of its own; nothing, where each had one winner, both were told
    the same of it, and the tool has left its line only where it was let run."""
    wrong, allowed = [], Counter[str]()
    with place.peer("ann") as ann, place.peer("bob") as bob:
        for number in range(rounds):
            fault, ran = _round(place, (ann, bob), pair, str(number), chance)
            wrong += [f"round {number}: {fault}"] if fault else []
            allowed[str(number)] += ran
        until(lambda: not [one for one in ann.request("agents/pending")["items"] if one["kind"] == "running"])
    ran = Counter(place.count.read_text().split() if place.count.exists() else ())
    extra = [f"round {number} ran {times} times" for number, times in ran.items() if times > allowed[number]]
    lacking = [] if "cancel" in pair else [number for number, times in allowed.items() if ran[number] < times]
    return [*wrong, *extra, *(f"round {number} did not run" for number in lacking)]


def _round(place: Place, peers: tuple[Peer, Peer], pair: str, word: str, chance: Random) -> tuple[str, bool]:
    """What was wrong, and whether the tool may have run."""
    tool = command("mark", WORD, ["sh", "-c", f'echo "$0" >> {place.count}', "{x}"])
    config = place.config(script=[calls(("mark", {"x": word})), says("end")], rules=[deferred("mark")], tools=[tool])
    session = peers[0].request("agents/start", config=config, prompt="go", cwd=str(place.work), run="turn")
    (call,) = session["pending"]
    order = [0, 1] if chance.random() < 0.5 else [1, 0]
    asked = {who: _say(peers[who], PAIRS[pair][who], session, call) for who in order}
    told = [peers[who].answer(asked[who]) for who in (0, 1)]
    winners = [one["applied"] for one in told]
    if PAIRS[pair][1] is None:
        resolved = told[0]["resolution"]["kind"]
        fair = resolved == ("approve" if winners[0] else "cancelled") and any(winners)
        return ("" if fair else f"{winners} {resolved}"), winners[0]
    kinds = {(one["resolution"]["kind"], one["resolution"]["by"]) for one in told}
    first = winners.index(True) if any(winners) else 0
    expected = {(PAIRS[pair][first]["kind"], ("ann", "bob")[first])}
    fair = sum(winners) == 1 and kinds == expected
    return ("" if fair else f"{winners} {kinds}"), PAIRS[pair][first]["kind"] == "approve"


def _say(peer: Peer, outcome: Any, session: Any, call: Any) -> int:
    if outcome is None:
        return peer.start("agents/cancel", sessionId=session["sessionId"])
    return peer.start("agents/complete", token=call["token"], outcome=outcome, argumentsHash=call["argumentsHash"])
