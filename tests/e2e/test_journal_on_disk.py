"""What stands on the disk, read by a reader that shares no code with the daemon (journal.md)."""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, deferred, says
from support.e2e_crash import Nursery
from support.e2e_peer import Peer

APPROVED_RUN = [
    ["created", "input", "model-requested"],
    ["candidate", "call-decided", "waiting"],
    ["call-resolved", "call-started"],
    ["call-finished", "tool-results", "model-requested"],
    ["candidate", "final"],
]
APPROVED_STEPS = [
    ["created", "input"],
    ["model-requested"],
    ["candidate"],
    ["call-decided", "waiting"],
    ["call-resolved", "call-started"],
    ["call-finished", "tool-results"],
    ["model-requested"],
    ["candidate", "final"],
]


@pytest.fixture
def watched(machine: Place, nursery: Nursery) -> Iterator[Peer]:
    """A client of a daemon whose journal writes are told in `diary`."""
    with nursery.wake(machine) as peer:
        yield peer


def approved(place: Place) -> dict[str, Any]:
    return place.config(script=[calls(("bump", {})), says("end")], rules=[deferred("bump")])


def diary(place: Place) -> list[str]:
    return (place.root / "diary").read_text().splitlines()


def told(path: Path) -> list[str]:
    """What a diary has to say of the journal: one write and one sync a unit."""
    sizes = [sum(len(line.raw) for line in unit) for unit in e2e_journal.units(path)]
    return [entry for size in sizes for entry in (f"wrote {size}", "synced")]


def test_a_run_with_an_approval_costs_five_writes_and_five_syncs(machine: Place, watched: Peer) -> None:
    start = {"config": approved(machine), "prompt": "x", "cwd": str(machine.work), "run": "turn"}
    session = watched.request("agents/start", **start)
    [call] = session["pending"]
    answer = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"], "resume": True}
    done = watched.request("agents/complete", token=call["token"], **answer)
    assert done["session"]["output"] == "end"
    path = machine.journal(session["sessionId"])
    assert (e2e_journal.types(path), diary(machine)) == (APPROVED_RUN, told(path))


def test_the_same_turn_step_by_step_costs_eight(machine: Place, watched: Peer) -> None:
    start = {"config": approved(machine), "prompt": "x", "cwd": str(machine.work)}
    session_id = watched.request("agents/start", **start)["sessionId"]
    for _ in range(2):
        watched.request("agents/step", sessionId=session_id)
    [call] = watched.request("agents/pending")["items"]
    answer = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
    watched.request("agents/complete", token=call["token"], **answer)
    watched.request("agents/step", sessionId=session_id)
    path = machine.journal(session_id)
    assert (e2e_journal.types(path), diary(machine)) == (APPROVED_STEPS, told(path))


BIG = 123456789012345678901234567890
ODD = '{ "z" :1,\t"a":  "\\u00e9\\ud83d\\ude00/\\/", "n": ' + f'{BIG},\n "f": 1.50e+2, "é": [ ], "z": 2 }}'


def test_the_arguments_of_the_model_are_kept_as_the_text_it_sent(place: Place) -> None:
    config = place.config(script=[{"calls": [{"tool": "ext", "rawArguments": ODD}]}, says("end")])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")
    [candidate] = [line for line in lines(place, session) if line.type == "candidate"]
    assert [call["arguments"] for call in candidate.data["calls"]] == [ODD]
    [call] = session["pending"]
    assert list(call["arguments"].items()) == [
        ("z", 2),
        ("a", "é😀//"),
        ("n", BIG),
        ("f", 150.0),
        ("é", []),
    ]


def test_the_hash_of_an_approval_is_of_the_text_as_the_model_sent_it(place: Place) -> None:
    config = place.config(script=[{"calls": [{"tool": "ext", "rawArguments": ODD}]}])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")
    [call] = session["pending"]
    [decided] = [line.data for line in lines(place, session) if line.type == "call-decided"]
    bound = ["abey-1", session["sessionId"], call["token"], "ext", ODD, str(place.work)]
    text = json.dumps([*bound, decided["policyHash"], decided["toolHash"]], separators=(",", ":"))
    assert call["argumentsHash"] == hashlib.sha256(text.encode()).hexdigest()


def test_results_come_back_as_they_were_given(place: Place) -> None:
    content = {
        "z": 1,
        "a": [1.5, 10**30, None, True, ""],
        "Ünï": "\u0000\u001b[31m\u202e😀",
        "nested": {"b": {}, "a": []},
    }
    config = place.config(script=[calls(("ext", {})), says("end")])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")
    outcome = {"kind": "result", "content": content}
    place.rpc("agents/complete", token=session["pending"][0]["token"], outcome=outcome)
    place.kill_daemon()
    [_, item] = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    assert json.dumps(item["call"]["output"]) == json.dumps(content)
    [resolved] = [line.data for line in lines(place, session) if line.type == "call-resolved"]
    assert json.dumps(resolved["outcome"]["content"]) == json.dumps(content)


def test_a_record_says_when_it_was_written_and_all_of_them_stand_in_order(place: Place) -> None:
    config = place.config(script=[calls(("bump", {})), says("end")])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")
    times = [line.record["at"] for line in lines(place, session)]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at) for at in times)
    assert (session["createdAt"], session["updatedAt"], session["revision"]) == (times[0], times[-1], len(times))


def test_folders_and_files_of_the_state_are_for_their_owner_alone(place: Place) -> None:
    session = place.rpc("agents/start", config=place.config(script=[says("x")]), prompt="x", cwd="/", run="turn")
    kinds = {
        path: path.stat().st_mode & 0o777
        for path in (place.state, *place.state.rglob("*"))
        if path.is_dir() or path.is_file()
    }
    assert {mode for path, mode in kinds.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in kinds.items() if path.is_file()} == {0o600}
    assert place.state / "configs" / f"{session['configHash']}.json" in kinds


def test_nothing_that_is_streamed_stands_in_the_journal(place: Place) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    config = place.config(script=[says(words)])
    session = place.rpc("agents/start", config=config, prompt="x", cwd="/", run="turn")
    assert session["output"] == words
    assert [line.type for line in lines(place, session)] == [
        "created",
        "input",
        "model-requested",
        "candidate",
        "final",
    ]
    path = place.journal(session["sessionId"])
    assert path.read_text().count("word399") == 2  # once in the agent's config


def test_the_cost_of_a_turn_does_not_grow_with_the_session(place: Place) -> None:
    config = place.config(script=[calls(("bump", {})), says("end")], loop=True)
    with place.peer() as peer:
        session = peer.request("agents/start", config=config, cwd=str(place.work))
        path = place.journal(session["sessionId"])
        sizes = [path.stat().st_size]
        for _ in range(12):
            peer.request("agents/send", sessionId=session["sessionId"], prompt="again", run="turn")
            sizes.append(path.stat().st_size)
    grown = [after - before for before, after in pairwise(sizes)]
    assert max(grown) - min(grown) < 100, grown  # digits of revisions and ids of calls


def lines(place: Place, session: Any) -> list[e2e_journal.Line]:
    return e2e_journal.read(place.journal(session["sessionId"]))
