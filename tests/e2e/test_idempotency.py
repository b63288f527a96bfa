"""Requests with a key through a real daemon: repeats that join, repeats after the end, and repeats after a kill -9."""

from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, deferred, says, until
from support.e2e_crash import Death, Moment, Nursery
from support.e2e_peer import Gone, Refusal

KEY = "order 66/a"
CLIENTS = 8


def starting(place: Place, **more: Any) -> dict[str, Any]:
    """A start that runs `bump` once and answers."""
    config = place.config(script=[calls(("bump", {})), says("done")], loop=True)
    return {"config": config, "prompt": "go", "cwd": str(place.work), "run": "turn", "idempotencyKey": KEY, **more}


def without_marks(result: Any) -> Any:
    return {name: value for name, value in result.items() if name not in ("replayed", "interrupted")}


def marks(result: Any) -> set[str]:
    return set(result) & {"replayed", "interrupted"}


def inputs(place: Place, session_id: str) -> int:
    return [line.type for line in e2e_journal.read(place.journal(session_id))].count("input")


def sessions(place: Place) -> list[str]:
    return [one["sessionId"] for one in place.rpc("agents/sessions")["items"]]


def at_once(place: Place, method: str, params: dict[str, Any]) -> list[Any]:
    """What eight clients are answered that all ask the same."""
    with ExitStack() as stack:
        peers = [stack.enter_context(place.peer(f"client{number}")) for number in range(CLIENTS)]
        asked = [(peer, peer.start(method, **params)) for peer in peers]
        return [peer.answer(request_id) for peer, request_id in asked]


def test_eight_clients_that_start_under_one_key_get_one_session(place: Place, nursery: Nursery) -> None:
    answers = at_once(place, "agents/start", starting(place))
    (session_id,) = {one["sessionId"] for one in answers}
    assert [one["output"] for one in answers] == ["done"] * CLIENTS
    assert (place.ran(), inputs(place, session_id), sessions(place)) == (1, 1, [session_id])
    place.kill_daemon()
    nursery.wake(place).close()
    again = place.rpc("agents/start", **starting(place))
    assert (without_marks(again), marks(again)) == (place.session(session_id), {"replayed"})
    assert (place.ran(), sessions(place)) == (1, [session_id])


def test_eight_clients_that_send_under_one_key_send_one_input(place: Place, nursery: Nursery) -> None:
    session_id = place.rpc("agents/start", **starting(place))["sessionId"]
    sent = {"sessionId": session_id, "prompt": "more", "run": "turn", "idempotencyKey": "send"}
    answers = at_once(place, "agents/send", sent)
    assert len({(one["inputId"], one["position"]) for one in answers}) == 1
    assert [one["session"]["turn"]["n"] for one in answers] == [2] * CLIENTS
    assert (place.ran(), inputs(place, session_id)) == (2, 2)
    place.kill_daemon()
    nursery.wake(place).close()
    again = place.rpc("agents/send", **sent)
    assert (again["inputId"], marks(again)) == (answers[0]["inputId"], {"replayed"})
    assert (place.ran(), inputs(place, session_id)) == (2, 2)


@pytest.mark.parametrize("moment", ["before", "torn", "after"])
def test_a_retry_after_a_kill_at_any_write_is_the_same_request(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    for at in count(1):
        with closing(Place(tmp_path / str(at))) as place:
            if not _killed_and_asked_again(place, nursery, Death(moment, at)):
                assert at > 3
                return


def _killed_and_asked_again(place: Place, nursery: Nursery, death: Death) -> bool:
    """Whether the daemon came to die. A start, and a send to its session, both asked again afterwards."""
    dead: str | None = None
    first = nursery.wake(place, death)
    try:
        started = first.request("agents/start", **starting(place))
        sent = {"sessionId": started["sessionId"], "prompt": "more", "run": "turn", "idempotencyKey": KEY + "2"}
        try:
            first.request("agents/send", **sent)
        except Gone:
            dead = "send"
    except Gone:
        dead = "start"
    first.close()
    if dead is None:
        return False
    with nursery.wake(place) as peer:
        started = peer.request("agents/start", **starting(place))
        session_id = started["sessionId"]
        sent = {"sessionId": session_id, "prompt": "more", "run": "turn", "idempotencyKey": KEY + "2"}
        answered = peer.request("agents/send", **sent)
        lost = "interrupted" in marks(started) or "interrupted" in marks(answered)
        assert marks(started) <= {"interrupted", "replayed"} and len(marks(started)) <= 1
        assert marks(started) == {"replayed"} if dead == "send" else True
        assert sessions(place) == [session_id]
        twice = peer.request("agents/start", **starting(place)), peer.request("agents/send", **sent)
        assert (marks(twice[0]), marks(twice[1])) == (marks(started) or {"replayed"}, marks(answered) or {"replayed"})
        assert twice[1]["inputId"] == answered["inputId"]
        queued = len(peer.request("agents/get", sessionId=session_id)["session"].get("queued", ()))
        assert inputs(place, session_id) + queued == 2
        assert place.ran() <= 2 if lost else place.ran() == 2
    return True


def test_a_step_that_its_client_did_not_wait_for_is_joined_by_who_asks_again(place: Place) -> None:
    release = place.work / "release"
    command = f"echo x >> {place.count}; until [ -e {release} ]; do sleep 0.01; done"
    config = place.config(script=[calls(("sh", {"command": command})), says("done")])
    session_id = place.rpc("agents/start", config=config, prompt="go", cwd=str(place.work), run="step")["sessionId"]
    step = {"sessionId": session_id, "idempotencyKey": KEY}
    with place.peer("first") as first, place.peer("second") as second:
        first.start("agents/step", **step)
        until(place.ran, "for the tool")
        first.hang_up()
        joined = second.start("agents/step", **step)
        with pytest.raises(Refusal) as refused:
            second.request("agents/step", sessionId=session_id, idempotencyKey="another")
        assert refused.value.kind == "session/busy"
        release.touch()
        answer = second.answer(joined)
    assert (answer["outcome"], marks(answer), place.ran()) == ("advanced", set(), 1)
    again = place.rpc("agents/step", **step)
    assert (without_marks(again), marks(again)) == (answer, {"replayed"})
    assert place.ran() == 1


def test_cancelling_a_request_with_a_key_ends_only_its_wait(place: Place) -> None:
    config = place.config(script=[calls(("slow", {})), says("done")])
    session_id = place.rpc("agents/start", config=config, prompt="go", cwd=str(place.work), run="step")["sessionId"]
    step = {"sessionId": session_id, "idempotencyKey": KEY}
    with place.peer() as peer:
        asked = peer.start("agents/step", **step)
        until(place.ran, "for the tool")
        peer.notify("$/cancelRequest", {"id": asked})
        with pytest.raises(Refusal) as cancelled:
            peer.answer(asked)
        joined = peer.start("agents/step", **step)
        assert peer.request("agents/cancel", sessionId=session_id, idempotencyKey="enough")["applied"]
        answer = peer.answer(joined)
        again = peer.request("agents/cancel", sessionId=session_id, idempotencyKey="enough")
    assert (cancelled.value.code, answer["outcome"]) == (-32800, "completed")
    assert (again["applied"], marks(again), place.ran()) == (True, {"replayed"}, 1)


def test_an_approval_that_a_crash_cut_off_says_so_and_runs_nothing_again(place: Place, nursery: Nursery) -> None:
    config = place.config(script=[calls(("slow", {})), says("done")], rules=[deferred("slow")])
    session = place.rpc("agents/start", config=config, prompt="go", cwd=str(place.work), run="turn")
    (call,) = session["pending"]
    approve = {"token": call["token"], "outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
    with place.peer() as peer:
        peer.start("agents/complete", **approve, idempotencyKey=KEY)
        until(place.ran, "for the tool")
        place.kill_daemon()
    nursery.wake(place).close()
    for _ in range(2):
        again = place.rpc("agents/complete", **approve, idempotencyKey=KEY)
        assert (again["applied"], again["resolution"]["kind"], again["turnComplete"]) == (True, "approve", False)
        assert (marks(again), [one["kind"] for one in again["session"]["pending"]]) == ({"interrupted"}, ["uncertain"])
    assert place.ran() == 1


def test_a_run_that_a_crash_cut_off_is_interrupted(place: Place, nursery: Nursery) -> None:
    config = place.config(script=[calls(("slow", {})), says("done")])
    session_id = place.rpc("agents/start", config=config, prompt="go", cwd=str(place.work))["sessionId"]
    run = {"sessionId": session_id, "idempotencyKey": KEY}
    with place.peer() as peer:
        peer.start("agents/run", **run)
        until(place.ran, "for the tool")
        place.kill_daemon()
    nursery.wake(place).close()
    again = place.rpc("agents/run", **run)
    assert (again["outcome"], again["steps"], marks(again), place.ran()) == ("interrupted", 0, {"interrupted"}, 1)


def test_who_waits_for_a_daemon_that_ends_is_told_to_ask_the_next_one(place: Place, nursery: Nursery) -> None:
    config = place.config(script=[calls(("slow", {})), says("done")])
    start = {"config": config, "prompt": "go", "cwd": str(place.work), "run": "turn", "idempotencyKey": KEY}
    with place.peer() as peer, place.peer("other") as other:
        asked, joined = peer.start("agents/start", **start), other.start("agents/start", **start)
        until(place.ran, "for the tool")
        place.abey("daemon", "stop", "--now")
        for one, request_id in ((peer, asked), (other, joined)):
            with pytest.raises(Refusal) as refused:
                one.answer(request_id)
            assert (refused.value.kind, refused.value.data["retryable"]) == ("daemon/gone", True)
    nursery.wake(place).close()
    again = place.rpc("agents/start", **start)
    assert (again["state"], marks(again), place.ran()) == ("partialUserTurn", {"interrupted"}, 1)


def test_a_failure_is_the_outcome_and_told_again(place: Place) -> None:
    config = place.config(script=[{"error": {"code": "auth", "message": "no key"}}, says("now it works")])
    start = {"config": config, "prompt": "go", "cwd": str(place.work), "run": "turn", "idempotencyKey": KEY}
    failures = []
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/start", **start)
        failures.append(refused.value)
    first, again = failures
    assert (again.code, again.message, again.data) == (first.code, first.message, {**first.data, "replayed": True})
    assert (first.kind, "replayed" in first.data) == ("model/auth", False)
    run = place.rpc("agents/run", sessionId=first.data["sessionId"], idempotencyKey="another")
    assert run["session"]["output"] == "now it works"


def test_a_key_of_another_request_is_refused(place: Place, nursery: Nursery) -> None:
    start = starting(place)
    session_id = place.rpc("agents/start", **start)["sessionId"]
    sent = {"sessionId": session_id, "prompt": "more", "idempotencyKey": "send"}
    place.rpc("agents/send", **sent)
    for daemon in ("the same", "another"):
        if daemon == "another":
            place.kill_daemon()
            nursery.wake(place).close()
        for method, params in (
            ("agents/start", {**start, "prompt": "else"}),
            ("agents/send", {**sent, "prompt": "else"}),
            ("agents/send", {**sent, "ifRevision": 1}),
            ("agents/stop", {"sessionId": session_id, "idempotencyKey": KEY}),
            ("agents/delete", {"sessionId": session_id, "idempotencyKey": "send"}),
        ):
            with pytest.raises(Refusal) as refused:
                place.rpc(method, **params)
            assert (refused.value.kind, refused.value.code) == ("idempotency/conflict", -31004)
    assert place.rpc("agents/send", **{**sent, "delivery": "turn"})["replayed"], "what has its default counts as absent"


def test_the_same_key_in_another_session_is_another_request(place: Place) -> None:
    first = place.rpc("agents/start", **starting(place, sessionId="one"))
    second = place.rpc("agents/start", **starting(place, sessionId="two"))
    assert (first["sessionId"], second["sessionId"], place.ran()) == ("one", "two", 2)
    again = place.rpc("agents/start", **starting(place, sessionId="two"))
    assert (again["sessionId"], marks(again)) == ("two", {"replayed"})


def test_what_recorded_nothing_is_not_remembered(place: Place) -> None:
    session_id = place.rpc("agents/start", **starting(place))["sessionId"]
    place.rpc("agents/pause", sessionId=session_id)
    pause = {"sessionId": session_id, "idempotencyKey": "pause"}
    revision = place.rpc("agents/pause", **pause)["revision"]
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/step", sessionId=session_id, prompt=" ", idempotencyKey="pause", ifRevision=1)
    assert refused.value.kind == "revision/conflict"
    rename = {"sessionId": session_id, "title": "T", "idempotencyKey": "pause"}
    place.rpc("agents/update", **rename)
    again = place.rpc("agents/update", **rename)
    assert (again["revision"], marks(again)) == (revision + 1, {"replayed"})


def test_an_import_under_a_key_makes_one_session(place: Place, nursery: Nursery, tmp_path: Path) -> None:
    origin = place.rpc("agents/start", **starting(place))["sessionId"]
    path = tmp_path / "one.jsonl"
    place.rpc("agents/export", sessionId=origin, path=str(path))
    bring = {"path": str(path), "idempotencyKey": "import"}
    (session_id,) = {one["sessionId"] for one in at_once(place, "agents/import", bring)}
    place.kill_daemon()
    nursery.wake(place).close()
    again = place.rpc("agents/import", **bring)
    assert (again["sessionId"], marks(again)) == (session_id, {"replayed"})
    assert sorted(sessions(place)) == sorted([origin, session_id])
    journal = e2e_journal.read(place.journal(session_id))
    assert [line.record["request"]["method"] for line in journal if "request" in line.record] == ["agents/import"]
    assert place.rpc("agents/start", **starting(place))["sessionId"] == origin


def test_a_key_makes_no_second_session_for_one_that_was_deleted(place: Place) -> None:
    session_id = place.rpc("agents/start", **starting(place))["sessionId"]
    place.rpc("agents/delete", sessionId=session_id)
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/start", **starting(place))
    assert (refused.value.kind, refused.value.data["sessionId"]) == ("state/invalid", session_id)
    place.rpc("agents/restore", sessionId=session_id)
    assert (marks(place.rpc("agents/start", **starting(place))), place.ran()) == ({"replayed"}, 1)


def test_every_request_with_an_effect_takes_the_revision_it_was_decided_on(place: Place, tmp_path: Path) -> None:
    config = place.config(script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    session = place.rpc("agents/start", config=config, prompt="go", cwd=str(place.work), run="turn", sessionId="one")
    (call,) = session["pending"]
    path = tmp_path / "one.jsonl"
    place.rpc("agents/export", sessionId="one", path=str(path))
    approve = {"token": call["token"], "outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
    started = {"config": config, "cwd": str(place.work)}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("agents/start", {**started, "sessionId": "one"}),
        *((f"agents/{verb}", {"sessionId": "one"}) for verb in ("step", "run", "resume", "pause", "cancel", "stop")),
        ("agents/send", {"sessionId": "one", "prompt": "x"}),
        ("agents/complete", approve),
        ("agents/update", {"sessionId": "one", "title": "t"}),
        ("agents/reopen", {"sessionId": "one"}),
        ("agents/repair", {"sessionId": "one", "apply": True}),
        ("agents/delete", {"sessionId": "one", "force": True}),
        ("agents/import", {"path": str(path), "sessionId": "one"}),
    ]
    for method, params in asked:
        assert stale(place, method, params) == session["revision"], method
    assert stale(place, "agents/start", started) == 0
    assert stale(place, "agents/import", {"path": str(path), "sessionId": "two"}) == 0
    assert place.session("one") == session
    place.rpc("agents/delete", sessionId="one", force=True, ifRevision=session["revision"])
    assert stale(place, "agents/restore", {"sessionId": "one"}) == session["revision"]
    assert place.rpc("agents/restore", sessionId="one", ifRevision=session["revision"]) == session
    assert place.rpc("agents/start", **started, sessionId="new", ifRevision=0)["sessionId"] == "new"


def stale(place: Place, method: str, params: dict[str, Any]) -> int:
    """The revision that the refusal of this request names, which was decided on another one."""
    with pytest.raises(Refusal) as refused:
        place.rpc(method, **params, ifRevision=99)
    assert refused.value.kind == "revision/conflict", (method, refused.value)
    return int(refused.value.data["revision"])


@pytest.mark.parametrize("key", ["", "x" * 129, "a\nb", "é", 7])
def test_a_key_that_is_none_is_refused(place: Place, key: Any) -> None:
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/start", **starting(place, idempotencyKey=key))
    assert refused.value.code == -32602


def test_the_command_line_takes_a_key(place: Place) -> None:
    agent = place.agent(script=[calls(("bump", {})), says("done")], loop=True)
    run = ("run", "--agent-file", str(agent), "-p", "go", "--idempotency-key", KEY)
    first, again = place.run(*run), place.run(*run)
    assert (first.code, first.out, again.code, again.out) == (0, "done\n", 0, "done\n")
    assert ("asked before" in first.err, "asked before" in again.err) == (False, True)
    (session_id,) = sessions(place)
    send = ("session", "send", session_id, "more", "--idempotency-key", "send")
    assert place.abey(*send) == place.abey(*send)
    assert (place.ran(), inputs(place, session_id)) == (1, 2)
    other = place.run("session", "send", session_id, "else", "--idempotency-key", "send")
    assert (other.code, other.out) == (5, "")
    assert place.run("session", "pause", session_id, "--if-revision", "1").code == 5


def test_an_answer_that_is_repeated_on_the_command_line_is_the_same_request(place: Place) -> None:
    asked = [calls(("bump", {})), calls(("bump", {"x": "2"})), says("done")]
    config = place.agent(script=asked, rules=[deferred("bump")])
    waiting = place.json("run", "--agent-file", str(config), "-p", "go", code=3)
    (call,) = waiting["session"]["pending"]
    approve = ("session", "approve", call["token"][:8], "--resume", "--idempotency-key", KEY)
    first, again = place.json(*approve), place.json(*approve)
    assert (marks(first), marks(again), again["resolution"]) == (set(), {"replayed"}, first["resolution"])
    (second,) = again["session"]["pending"]
    assert (second["callId"] != call["callId"], place.ran()) == (True, 1)
    assert place.run("session", "deny", call["token"], "--idempotency-key", KEY).code == 5
    deny = ("session", "deny", second["token"][:8], "no", "--idempotency-key", "no")
    assert (marks(place.json(*deny)), marks(place.json(*deny)), place.ran()) == (set(), {"replayed"}, 1)


def test_the_daemon_says_that_it_knows_keys(place: Place) -> None:
    with place.peer() as peer:
        assert "idempotencyKey" in peer.daemon["features"]
