"""Sessions out of portable values, through a real daemon (machine.md, Seeds)."""

import json
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, says
from support.e2e_crash import Death, Moment, Nursery
from support.e2e_peer import Gone, Peer, Refusal
from support.replay import Canned, replaying_beside
from support.seeds import NONSENSE, Value, answered, call, done, results, said, text


def seeded(place: Place, *transcript: Value, **more: Any) -> Any:
    """A session of this transcript, with an agent of this script."""
    seed = {"transcript": list(transcript), **more}
    return place.rpc("agents/seed", config=place.config(script=[says("done")]), cwd=str(place.work), seed=seed)


def test_a_seed_goes_on_where_it_ended_also_after_a_kill(place: Place) -> None:
    session = seeded(place, said("hi"), revision=41, turnCount=3, userId="u", context={"k": 1})
    session_id = session["sessionId"]
    assert (session["state"], session["revision"], session["turn"]["n"], session["title"]) == ("userTurn", 43, 3, "hi")
    assert [(line.record["rev"], line.type) for line in e2e_journal.read(place.journal(session_id))] == [
        (42, "created"),
        (43, "seeded"),
    ]
    place.kill_daemon()
    assert place.session(session_id) == session
    ran = place.rpc("agents/run", sessionId=session_id)
    assert (ran["outcome"], ran["session"]["output"], ran["session"]["revision"]) == ("completed", "done", 46)
    place.kill_daemon()
    assert place.session(session_id)["revision"] == 46
    record = place.rpc("agents/record", sessionId=session_id)
    assert record["session"] == {"id": session_id, "userId": "u", "context": {"k": 1}, "turnCount": 3, "status": "idle"}
    assert [one["kind"] for one in record["transcript"]] == ["input", "candidate", "final"]


def test_its_members_may_stand_beside_the_agent(place: Place) -> None:
    session = place.rpc("agents/seed", config=place.config(), cwd=str(place.work), id="mine", revision=2, transcript=[])
    assert (session["sessionId"], session["revision"], session["state"]) == ("mine", 4, "completed")


@pytest.mark.parametrize("left", ["an empty folder", "an empty journal"])
def test_what_a_crash_left_of_making_a_session_stands_in_no_seeds_way(place: Place, left: str) -> None:
    folder = place.journal("mine").parent
    folder.mkdir(parents=True, mode=0o700)
    if left == "an empty journal":
        place.journal("mine").touch()
    [damaged] = place.rpc("agents/sessions")["damaged"]
    session = seeded(place, said("hi"), id="mine")
    assert (damaged["sessionId"], session["sessionId"], session["state"]) == ("mine", "mine", "userTurn")
    place.kill_daemon()
    assert place.session("mine") == session
    assert place.rpc("agents/sessions")["damaged"] == []
    assert [one["sessionId"] for one in place.rpc("agents/trash")["items"]] == ["mine"]


def test_what_is_left_open_waits_over_a_restart(place: Place) -> None:
    asked = answered(call("c1", "bump"), call("c2", "ext"))
    session_id = seeded(place, said("hi"), asked)["sessionId"]
    place.kill_daemon()
    pending = place.rpc("agents/pending")["items"]
    assert [(one["callId"], one["kind"]) for one in pending] == [("c1", "approval"), ("c2", "external")]
    assert place.rpc("agents/run", sessionId=session_id)["outcome"] == "waiting"
    assert place.ran() == 0
    approval, external = pending
    place.rpc("agents/complete", token=external["token"], outcome={"kind": "result", "content": "theirs"})
    yes = {"token": approval["token"], "outcome": {"kind": "approve"}, "argumentsHash": approval["argumentsHash"]}
    assert place.rpc("agents/complete", **yes, resume=True)["session"]["output"] == "done"
    assert place.ran() == 1


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        ({"transcript": [], "bogus": 1}, "bogus: there is no such member"),
        ({}, "transcript: it is missing"),
        ({"transcript": [{**said("x"), "turnId": 5}]}, "transcript[0].turnId: Input should be a valid string"),
        (
            {"transcript": [said("x"), answered({"type": "zap"})]},
            "transcript[1].candidate.output[0].type: one of 'text', 'reasoning', 'json', 'tool-call'",
        ),
    ],
)
def test_an_invalid_seed_makes_nothing(place: Place, seed: Value, error: str) -> None:
    for params in ({"seed": seed}, seed):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/seed", config=place.config(), cwd=str(place.work), **params)
        assert (refused.value.code, refused.value.data) == (
            -31020,
            {"kind": "session/invalid-seed", "retryable": False, "errors": [error]},
        )
    assert place.rpc("agents/sessions")["items"] == []


def test_a_seed_beside_and_a_seed_inside_are_not_both(place: Place) -> None:
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/seed", config=place.config(), cwd=str(place.work), seed={"transcript": []}, userId="u")
    assert refused.value.data["errors"] == ["userId: it stands beside the seed"]


def test_nonsense_is_refused_by_a_step_and_the_session_stays_as_it_is(place: Place) -> None:
    session_id = seeded(place, said("hi"), results(done("c1")))["sessionId"]
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/step", sessionId=session_id)
        data = refused.value.data
        assert (data["kind"], data["session"]["state"]) == ("model/invalid-request", "userTurn")
        assert refused.value.message == "message 2 answers call 'c1', which was never made"
        place.kill_daemon()


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_no_provider_is_asked_with_nonsense(place: Place, provider: str) -> None:
    with replaying_beside(Canned([b"{}"], 400)) as model:
        config = {**place.config(), "model": {"provider": provider, "name": "tiny", "baseUrl": model.url}}

        def step(transcript: tuple[Value, ...]) -> str:
            params = {"config": config, "cwd": str(place.work), "seed": {"transcript": list(transcript)}}
            session_id = place.rpc("agents/seed", **params)["sessionId"]
            with pytest.raises(Refusal) as refused:
                place.rpc("agents/step", sessionId=session_id)
            assert refused.value.data["kind"] == "model/invalid-request"
            assert place.session(session_id)["state"] == "userTurn"
            return refused.value.message

        told = [step(transcript) for transcript in NONSENSE.values()]
        assert model.asked == []
        assert all("message" in one or "call" in one for one in told)
        step((said("hi"),))
        assert len(model.asked) == 1


def test_a_stopped_session_takes_a_seed_and_any_other_one_does_not(place: Place) -> None:
    session_id = seeded(place, said("hi"), answered(call("c1", "ext")), id="mine")["sessionId"]
    (old,) = place.rpc("agents/pending")["items"]
    with pytest.raises(Refusal) as refused:
        seeded(place, said("hi"), id="mine")
    assert refused.value.data["kind"] == "state/invalid"
    assert refused.value.data["sessionId"] == "mine"
    place.rpc("agents/stop", sessionId=session_id)
    again = seeded(place, said("anew"), answered(call("c1", "ext")), id="mine")
    assert (again["state"], again["turn"]["n"]) == ("partialUserTurn", 1)
    place.kill_daemon()
    late = place.rpc("agents/complete", token=old["token"], outcome={"kind": "result", "content": "x"})
    assert (late["applied"], late["session"]["state"]) == (False, "partialUserTurn")
    (new,) = place.rpc("agents/pending")["items"]
    assert new["token"] != old["token"]
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    assert [one["parts"][0]["text"] for one in items if one["kind"] == "input"] == ["anew"]


def test_a_stopped_session_goes_on_with_its_own_agent_and_no_other(place: Place) -> None:
    seeded(place, said("hi"), id="mine")
    seed = {"id": "mine", "transcript": [said("anew")]}
    for params in ({"seed": seed}, seed):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/seed", **params)
        assert (refused.value.kind, refused.value.data["sessionId"]) == ("state/invalid", "mine")
    place.rpc("agents/stop", sessionId="mine")
    other = {**place.config(), "slug": "other"}
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/seed", seed=seed, config=other)
    assert (refused.value.kind, refused.value.data["state"]) == ("state/invalid", "stopped")
    again = place.rpc("agents/seed", seed=seed, idempotencyKey="k")
    assert (again["sessionId"], again["state"], again["cwd"]) == ("mine", "userTurn", str(place.work))
    assert place.rpc("agents/run", sessionId="mine")["session"]["output"] == "done"
    assert place.rpc("agents/seed", seed=seed, idempotencyKey="k")["replayed"] is True


@pytest.mark.parametrize("seed", [{"transcript": []}, {"id": "new", "transcript": []}])
def test_a_new_session_needs_an_agent(place: Place, seed: Value) -> None:
    for params in ({"seed": seed}, seed):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/seed", cwd=str(place.work), **params)
        assert (refused.value.code, refused.value.kind) == (-32602, "invalid-params")
    assert place.rpc("agents/sessions")["items"] == []


@pytest.mark.parametrize("stopped", [False, True], ids=["new", "stopped"])
def test_of_several_who_seed_one_id_at_once_one_wins(place: Place, stopped: bool) -> None:
    if stopped:
        seeded(place, said("before"), id="mine")
        place.rpc("agents/stop", sessionId="mine")
    with ExitStack() as stack:
        peers = [stack.enter_context(place.peer(f"peer {n}")) for n in range(8)]
        started = []
        for n, peer in enumerate(peers):
            seed = {"id": "mine", "transcript": [said(f"words of {n}")]}
            started.append(peer.start("agents/seed", seed=seed, config=place.config(), cwd=str(place.work)))
        told = [_told(peer, number) for peer, number in zip(peers, started, strict=True)]
    (winner,) = (n for n, one in enumerate(told) if one == "mine")
    assert told == ["mine" if n == winner else "state/invalid" for n in range(8)]
    place.kill_daemon()
    (item,) = place.rpc("agents/transcript", sessionId="mine")["items"]
    assert item["parts"][0]["text"] == f"words of {winner}"


def _told(peer: Peer, number: int) -> str:
    """The session that the seed has made, or the kind of its refusal."""
    try:
        return str(peer.answer(number)["sessionId"])
    except Refusal as refusal:
        return refusal.kind


def test_a_key_makes_one_session_and_a_repeat_finds_it(place: Place) -> None:
    params = {
        "config": place.config(),
        "cwd": str(place.work),
        "idempotencyKey": "k",
        "seed": {"transcript": [said("hi")]},
    }
    first = place.rpc("agents/seed", **params)
    place.kill_daemon()
    second = place.rpc("agents/seed", **params)
    assert (second["replayed"], second["sessionId"]) == (True, first["sessionId"])
    own = {**params, "seed": {**params["seed"], "id": "own"}, "idempotencyKey": "o"}
    assert place.rpc("agents/seed", **own)["sessionId"] == "own"
    assert place.rpc("agents/seed", **own)["replayed"] is True
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/seed", **{**params, "seed": {"transcript": [said("other")]}})
    assert refused.value.data["kind"] == "idempotency/conflict"


@pytest.mark.parametrize("moment", ["before", "torn", "after"])
def test_a_kill_at_any_write_leaves_the_whole_session_or_none(tmp_path: Path, nursery: Nursery, moment: Moment) -> None:
    for at in count(1):
        with closing(Place(tmp_path / str(at))) as place:
            if not _killed_and_asked_again(place, nursery, Death(moment, at)):
                assert at > 1
                return


def _killed_and_asked_again(place: Place, nursery: Nursery, death: Death) -> bool:
    """Whether the daemon came to die. The seed leaves a call open, and is asked for again afterwards."""
    seed = {"revision": 7, "transcript": [said("hi"), answered(call("c1", "ext"))]}
    params = {"config": place.config(), "cwd": str(place.work), "seed": seed, "idempotencyKey": "k"}
    died = False
    with nursery.wake(place, death) as peer:
        try:
            peer.request("agents/seed", **params)
        except Gone:
            died = True
    if not died:
        return False
    with nursery.wake(place) as peer:
        listed = peer.request("agents/sessions")["items"]
        assert [one["state"] for one in listed] in ([], ["partialUserTurn"])
        session = peer.request("agents/seed", **params)
        assert (session["revision"], len(session["pending"])) == (11, 1)
        assert [one["sessionId"] for one in peer.request("agents/sessions")["items"]] == [session["sessionId"]]
    return True


def test_clients_hear_of_the_seed_and_of_what_waits(place: Place) -> None:
    session_id = seeded(place, said("hi"), answered(call("c1", "ext")), revision=7)["sessionId"]
    events = [one["event"] for one in place.rpc("agents/events", sessionId=session_id, after=0)["events"]]
    assert [one["type"] for one in events] == ["session/seeded", "item/updated", "pending/added", "session/updated"]
    assert events[0] == {"type": "session/seeded", "revision": 7, "transcriptEntries": 2}


def test_a_seed_of_megabytes_survives_a_restart(place: Place) -> None:
    entries = []
    for turn in range(1000):
        entries += [said("x" * 3000, f"t{turn}"), answered(text("y" * 2000), turn=f"t{turn}", step=f"s{turn}")]
    session_id = seeded(place, *entries, said("last", "end"))["sessionId"]
    place.kill_daemon()
    record = place.rpc("agents/run", sessionId=session_id)
    assert record["session"]["output"] == "done"
    assert record["session"]["turn"]["n"] == 1001


def test_the_program_makes_a_session_of_a_file_and_of_a_record(place: Place) -> None:
    agent = str(place.agent(script=[says("done")]))
    seed = place.work / "seed.json"
    seed.write_text(json.dumps({"id": "first", "turnCount": 2, "transcript": [said("hi")]}))
    out = place.abey("session", "seed", str(seed), "--agent-file", agent)
    assert out.splitlines()[0] == "session-id: first"
    assert place.abey("session", "seed", str(seed), "--agent-file", agent, "--id", "second", "-q") == "second\n"
    place.abey("session", "resume", "first")
    record = place.abey("session", "record", "first")
    assert place.abey("session", "seed", "-", "--agent-file", agent, "--id", "third", "-q", stdin=record) == "third\n"
    ours, theirs = (json.loads(place.abey("session", "record", name)) for name in ("first", "third"))
    assert theirs["transcript"] == ours["transcript"]
    assert theirs["revision"] == ours["revision"] + 2
    seed.write_text("[1]")
    done = place.run("session", "seed", str(seed), "--agent-file", agent)
    assert (done.code, "an object is expected" in done.err) == (1, True)


def test_a_seed_that_nests_too_deep_for_a_message_is_answered(place: Place) -> None:
    deep: Any = 1
    for _ in range(99):
        deep = [deep]
    with pytest.raises(Refusal) as refused:
        seeded(place, context={"a": deep})
    assert (refused.value.code, refused.value.data["kind"]) == (-32700, "parse-error")
