"""Forks of sessions, through the real daemon (machine.md, Forks)."""

import json
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_crash import Death, Moment, Nursery
from support.e2e_peer import Gone, Refusal

KEY = "one key"
BIG = "head -c 400000 /dev/zero | tr '\\0' x"
"""Prints more than a model is told: the whole of it is a blob."""


def started(place: Place, *, run: str = "turn", **config: Any) -> Any:
    """A session `one`, whose folder is the workspace."""
    agent = place.agent(**config)
    params = {"agentFile": str(agent), "prompt": "hello", "sessionId": "one", "cwd": str(place.work)}
    return place.rpc("agents/start", **params, run=run)


def files(place: Place, session_id: str) -> dict[str, bytes]:
    """Every file of a session, but for its snapshots."""
    folder = place.journal(session_id).parent
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("snapshot"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def transcript(place: Place, session_id: str) -> list[Any]:
    """What is said, without the tokens of the session."""
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [{**item, "call": {**item.get("call", {}), "token": ""}} for item in items]


def refusal(place: Place, method: str, **params: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        place.rpc(method, **params)
    return refused.value


def test_a_fork_says_the_same_and_goes_on_and_its_source_is_as_it_was(place: Place, nursery: Nursery) -> None:
    script = [calls(("sh", {"command": BIG})), says("first"), says("second"), says("third")]
    source = started(place, script=script)
    before = files(place, "one")
    assert len([name for name in before if name.startswith("blobs/")]) == 2
    fork = place.rpc("agents/fork", sessionId="one")
    there = fork["sessionId"]
    assert fork == {
        **source,
        "sessionId": there,
        "title": "hello (fork)",
        "forkedFrom": "one",
        "createdAt": fork["createdAt"],
        "updatedAt": fork["createdAt"],
    }
    assert transcript(place, there) == transcript(place, "one")
    assert set(files(place, there)) == set(before)
    sent = place.rpc("agents/send", sessionId=there, prompt="more", run="turn")
    assert sent["session"]["output"] == "second"
    assert files(place, "one") == before
    place.rpc("agents/delete", sessionId="one")
    place.kill_daemon()
    nursery.wake(place).close()
    (call,) = [item["call"] for item in place.rpc("agents/transcript", sessionId=there)["items"] if "call" in item]
    assert call["outputBytes"] == 400_000
    tail = place.rpc("agents/output", sessionId=there, callId=call["callId"], offset=399_990, limit=100)
    assert tail == {"data": "x" * 10, "encoding": "utf-8", "size": 400_000}
    assert place.session(there) == {**sent["session"], "activity": "idle"}
    assert [one["sessionId"] for one in place.rpc("agents/sessions")["items"]] == [there]


def test_a_call_that_runs_in_the_source_waits_in_the_fork(place: Place) -> None:
    started(place, script=[calls(("slow", {}), ("slow", {"x": "1"})), says("done")], run="none")
    place.rpc("agents/run", sessionId="one", wait=False)
    until(lambda: place.ran() == 2)
    refused = refusal(place, "agents/fork", sessionId="one")
    assert (refused.kind, refused.data["state"], refused.data["lastLegal"]) == ("state/invalid", "partialUserTurn", 4)
    before = place.journal("one").read_bytes()
    fork = place.rpc("agents/fork", sessionId="one", at=4, title="mine")
    assert (fork["state"], fork["title"], fork["revision"]) == ("llmTurn", "mine", 4)
    stepped = place.rpc("agents/step", sessionId=fork["sessionId"])["session"]
    assert [(call["tool"], call["kind"], call["reason"]) for call in stepped["pending"]] == [
        ("slow", "approval", "already ran before the rewind"),
        ("slow", "approval", "already ran before the rewind"),
    ]
    assert place.ran() == 2
    assert place.journal("one").read_bytes() == before
    source = place.session("one")
    assert (source["activity"], source["revision"]) == ("tools", json.loads(before.splitlines()[-1][9:])["rev"])
    place.rpc("agents/stop", sessionId="one")


def test_what_waits_in_two_forks_and_their_source_is_answered_in_each_alone(place: Place) -> None:
    script = [calls(("bump", {})), says("done")]
    waiting = started(place, script=script, rules=[deferred("bump")])
    forks = [place.rpc("agents/fork", sessionId="one", at=4)["sessionId"] for _ in range(2)]
    sessions = [waiting, *(place.rpc("agents/run", sessionId=fork)["session"] for fork in forks)]
    tokens = [session["pending"][0]["token"] for session in sessions]
    assert len(set(tokens)) == 3
    assert [one["reason"] for session in sessions for one in session["pending"]] == ["approval required"] * 3
    place.rpc("agents/complete", token=tokens[1], outcome={"kind": "deny", "message": "no"}, resume=True)
    place.rpc("agents/complete", token=tokens[2], outcome={"kind": "result", "content": "r"}, resume=True)
    assert [place.session(one)["state"] for one in ("one", *forks)] == ["partialUserTurn", "completed", "completed"]
    (call,) = place.session("one")["pending"]
    approval = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
    done = place.rpc("agents/complete", token=tokens[0], **approval, resume=True)
    assert (done["session"]["output"], place.ran()) == ("done", 1)


def test_a_session_that_is_over_is_forked_where_it_was_not(place: Place) -> None:
    started(place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    place.rpc("agents/stop", sessionId="one")
    refused = refusal(place, "agents/fork", sessionId="one")
    assert (refused.kind, refused.data["state"]) == ("state/invalid", "stopped")
    fork = place.rpc("agents/fork", sessionId="one", at=refused.data["lastLegal"])
    assert fork["state"] == "userTurn"
    assert place.rpc("agents/run", sessionId=fork["sessionId"])["session"]["output"] == "done"


@pytest.mark.parametrize("at", [0, -1, 1000, 5, 6])
def test_a_revision_that_is_none_or_not_quiet_is_refused_and_nothing_is_made(place: Place, at: int) -> None:
    started(place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    refused = refusal(place, "agents/fork", sessionId="one", at=at)
    assert refused.kind == "state/invalid" if at > 0 else refused.code == -32602
    assert [path.name for path in (place.state / "sessions").iterdir()] == ["one"]


def test_a_repeat_under_a_key_finds_the_same_fork(place: Place, nursery: Nursery) -> None:
    started(place, script=[says("first"), says("second")])
    fork = place.rpc("agents/fork", sessionId="one", idempotencyKey=KEY)
    place.rpc("agents/send", sessionId=fork["sessionId"], prompt="more", run="turn")
    for _ in range(2):
        again = place.rpc("agents/fork", sessionId="one", idempotencyKey=KEY)
        assert (again["sessionId"], again["replayed"], again["output"]) == (fork["sessionId"], True, "second")
        place.kill_daemon()
        nursery.wake(place).close()
    assert refusal(place, "agents/fork", sessionId="one", at=2, idempotencyKey=KEY).kind == "idempotency/conflict"
    assert refusal(place, "agents/fork", sessionId=fork["sessionId"], idempotencyKey=KEY).kind == "idempotency/conflict"
    start = {"agentFile": str(place.work / "a.json"), "idempotencyKey": KEY}
    assert refusal(place, "agents/start", **start).kind == "idempotency/conflict"
    place.rpc("agents/delete", sessionId=fork["sessionId"])
    assert refusal(place, "agents/fork", sessionId="one", idempotencyKey=KEY).kind == "state/invalid"
    assert place.rpc("agents/fork", sessionId="one")["sessionId"] != fork["sessionId"]


def test_a_fork_is_of_the_revision_that_its_client_has_seen(place: Place) -> None:
    session = started(place, script=[says("first")])
    refused = refusal(place, "agents/fork", sessionId="one", ifRevision=session["revision"] - 1)
    assert (refused.kind, refused.data["revision"]) == ("revision/conflict", session["revision"])
    place.rpc("agents/fork", sessionId="one", ifRevision=session["revision"])
    assert refusal(place, "agents/fork", sessionId="nobody").kind == "session/unknown"


@pytest.mark.parametrize("moment", ["before", "torn", "after"])
def test_a_kill_at_any_write_leaves_a_whole_fork_or_none(tmp_path: Path, nursery: Nursery, moment: Moment) -> None:
    for at in count(1):
        with closing(Place(tmp_path / str(at))) as place:
            if not _killed_and_asked_again(place, nursery, Death(moment, at)):
                assert at > 1
                return


def _killed_and_asked_again(place: Place, nursery: Nursery, death: Death) -> bool:
    """Whether the daemon came to die while it made a fork with blobs; the fork is asked for again afterwards."""
    with nursery.wake(place):
        started(place, script=[calls(("sh", {"command": BIG})), says("first"), says("second")])
    place.kill_daemon()
    before, fork = files(place, "one"), {"sessionId": "one", "idempotencyKey": KEY}
    with nursery.wake(place, death) as peer:
        try:
            peer.request("agents/fork", **fork)
        except Gone:
            pass
        else:
            return False
    with nursery.wake(place) as peer:
        found = peer.request("agents/sessions")
        whole = {one["sessionId"] for one in found["items"]} - {one["sessionId"] for one in found["damaged"]}
        assert whole in ({"one"}, {"one", peer.request("agents/fork", **fork)["sessionId"]})
        made = peer.request("agents/fork", **fork)
        assert transcript(place, made["sessionId"]) == transcript(place, "one")
        sent = peer.request("agents/send", sessionId=made["sessionId"], prompt="more", run="turn")
        assert sent["session"]["output"] == "second"
    assert files(place, "one") == before
    return True


def test_on_the_command_line(place: Place) -> None:
    started(place, script=[says("first")])
    plain = place.abey("session", "fork", "one", "--title", "mine").splitlines()
    assert plain[0].startswith("session-id: ")
    assert plain[1:] == ["State: LlmTurn (completed)", "first"]
    there = place.abey("session", "fork", "one", "--at", "2", "-q").strip()
    session = place.session(there)
    assert (session["state"], session["title"], session["revision"]) == ("userTurn", "hello (fork)", 2)
    assert place.json("session", "fork", "one")["forkedFrom"] == "one"
    refused = place.run("session", "fork", "one", "--at", "77")
    assert (refused.code, refused.out) == (1, "")
    assert "has the revisions 1 to 5, not 77" in refused.err


def test_a_record_is_json_whoever_asks(place: Place) -> None:
    started(place, script=[calls(("bump", {})), says("done")])
    record = place.rpc("agents/record", sessionId="one")
    assert json.loads(place.abey("session", "record", "one")) == record
    assert place.json("session", "record", "one") == record
    assert json.loads(place.abey("session", "record", "one", "-q")) == record
    assert (record["transition"], record["session"]["status"], record["revision"]) == ("final", "idle", 11)
    assert [entry["kind"] for entry in record["transcript"]] == [
        "input",
        "candidate",
        "tool-results",
        "candidate",
        "final",
    ]
    assert refusal(place, "agents/record", sessionId="nobody").kind == "session/unknown"


def test_a_record_that_does_not_fit_a_reply_is_refused_and_not_cut(place: Place) -> None:
    started(place, script=[says("first")])
    place.rpc("agents/send", sessionId="one", prompt="x" * 4_200_000)
    refused = refusal(place, "agents/record", sessionId="one")
    assert (refused.kind, refused.data["limit"]) == ("too-large", 4 << 20)
    fork = place.rpc("agents/fork", sessionId="one")
    assert transcript(place, fork["sessionId"]) == transcript(place, "one")


def test_children_stay_with_the_source_and_outlive_its_forks(place: Place) -> None:
    reviewer = place.config(name="reviewer", script=[says("fine"), says("as before")], description="reviews")
    (place.agents / "reviewer.json").write_text(json.dumps(reviewer))
    tool = {"kind": "agent", "name": "reviewer", "agent": "reviewer"}
    script = [calls(("reviewer", {"prompt": "look"})), says("done")]
    (child,) = started(place, script=script, tools=[*place.tools(), tool])["children"]
    place.rpc("agents/run", sessionId="one", until="turn")
    fork, undecided = place.rpc("agents/fork", sessionId="one"), place.rpc("agents/fork", sessionId="one", at=4)
    assert (fork["output"], fork["children"]) == ("done", [])
    assert {item["call"].get("childId") for item in transcript(place, fork["sessionId"])} == {None}
    (call,) = place.rpc("agents/step", sessionId=undecided["sessionId"])["session"]["pending"]
    assert (call["kind"], call["reason"]) == ("approval", "already ran before the rewind")
    of_child = place.rpc("agents/fork", sessionId=child)
    assert ("parent" in of_child, of_child["forkedFrom"]) == (False, child)
    for one in (fork, undecided, of_child):
        place.rpc("agents/delete", sessionId=one["sessionId"], force=True)
    assert place.session(child)["parent"] == "one"
    assert place.session("one")["children"] == [child]
    of_child = place.rpc("agents/fork", sessionId=child)["sessionId"]
    place.rpc("agents/delete", sessionId="one")
    assert [one["sessionId"] for one in place.rpc("agents/sessions")["items"]] == [of_child]
    sent = place.rpc("agents/send", sessionId=of_child, prompt="and now?", run="turn")
    assert sent["session"]["output"] == "as before"


def test_a_damaged_session_has_no_record_and_no_forks(place: Place, nursery: Nursery) -> None:
    started(place, script=[says("first")])
    place.kill_daemon()
    journal = place.journal("one")
    first, second, *others = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join((first, second.replace(b"hello", b"hallo"), *others)))
    nursery.wake(place).close()
    for method in ("agents/record", "agents/fork"):
        assert refusal(place, method, sessionId="one").kind == "session/damaged"
    assert [path.name for path in (place.state / "sessions").iterdir()] == ["one"]
