"""Clients come, go, wait and watch; the daemon owns the work."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

import pytest
from support.e2e import PROGRAMS, Place, calls, deferred, says, until
from support.e2e_peer import Peer, Refusal

from abey.rpc.framing import frame

CANCELLED = -32800


def started(place: Place, run: str = "none", wait: bool = True, **config: Any) -> Any:
    """A session with an input."""
    params = {"prompt": "x", "cwd": str(place.work), "run": run, "wait": wait}
    return place.rpc("agents/start", config=place.config(**config), **params)


def gated(place: Place) -> dict[str, Any]:
    """A script entry whose tool runs until `open_gate`."""
    return calls(("sh", {"command": f"echo line >> {place.count}; cat {place.work / 'gate'}"}))


def make_gate(place: Place) -> None:
    os.mkfifo(place.work / "gate")


def open_gate(place: Place) -> None:
    (place.work / "gate").write_text("through")


def test_a_step_outlives_the_client_that_asked_for_it(place: Place) -> None:
    make_gate(place)
    session = started(place, run="step", script=[gated(place), says("end")])
    step = place.popen("session", "step", session["sessionId"])
    until(lambda: place.ran() == 1)
    step.send_signal(signal.SIGKILL)
    step.communicate(timeout=30)
    assert place.session(session["sessionId"])["activity"] == "tools"
    open_gate(place)
    until(lambda: place.session(session["sessionId"])["activity"] == "idle")
    assert place.session(session["sessionId"])["state"] == "userTurn"
    assert place.abey("session", "step", session["sessionId"]) == "State: LlmTurn (completed)\nend\n"
    assert place.ran() == 1


def inputs(place: Place, session_id: str) -> list[str]:
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [part["text"] for item in items if item["kind"] == "input" for part in item["parts"]]


def test_whenever_a_client_is_killed_asking_again_brings_its_input_once(place: Place) -> None:
    """At moments all over the life of the program, from its first instruction to after its answer."""
    session_id = started(place)["sessionId"]
    for n in range(20):
        words = ("session", "send", session_id, f"input {n}", "--idempotency-key", f"k{n}")
        client = place.popen(*words)
        with suppress(subprocess.TimeoutExpired):
            client.wait(n * 0.008)
        client.kill()
        client.communicate()
        place.abey(*words)
    assert inputs(place, session_id) == ["x", *(f"input {n}" for n in range(20))]


def test_a_request_counts_once_it_has_arrived_whole_and_not_before(place: Place) -> None:
    session_id = started(place)["sessionId"]
    sent = []
    for n, part in enumerate((0.0, 0.1, 0.4, 0.9, 0.99, 1.0)):
        with place.peer() as peer:
            params = {"sessionId": session_id, "prompt": f"input {n}", "inputId": f"i{n}"}
            message = {"jsonrpc": "2.0", "id": 99, "method": "agents/send", "params": params}
            whole = frame(json.dumps(message).encode())
            peer.raw(whole[: int(len(whole) * part)])
    until(lambda: inputs(place, session_id) == ["x", "input 5"])
    for n in range(6):
        place.rpc("agents/send", sessionId=session_id, prompt=f"input {n}", inputId=f"i{n}")
        sent.append(f"input {n}")
    assert sorted(inputs(place, session_id)) == [*sent, "x"]


def test_cancelling_a_request_ends_only_its_wait(place: Place) -> None:
    make_gate(place)
    session = started(place, run="step", script=[gated(place), says("end")])
    with place.peer() as peer:
        step = peer.start("agents/step", sessionId=session["sessionId"])
        until(lambda: place.ran() == 1)
        peer.notify("$/cancelRequest", {"id": step})
        with pytest.raises(Refusal) as ended:
            peer.answer(step)
        after = peer.request("agents/get", sessionId=session["sessionId"])["session"]
        assert (ended.value.code, after["activity"], after["state"]) == (CANCELLED, "tools", "partialUserTurn")
        open_gate(place)
        assert until(lambda: place.session(session["sessionId"])["activity"] == "idle")
        assert peer.request("agents/step", sessionId=session["sessionId"])["session"]["output"] == "end"


def test_two_clients_see_one_session_and_hear_of_it(place: Place) -> None:
    with place.peer("one") as one, place.peer("two") as two:
        config = place.config(script=[calls(("ext", {}))])
        start = {"config": config, "prompt": "x", "cwd": str(place.work), "run": "turn"}
        session = one.request("agents/start", **start)
        assert two.request("agents/get", sessionId=session["sessionId"])["session"] == session
        heard = until(lambda: _waiting(two))
        assert (heard["sessionId"], heard["pendingCount"], heard["attention"], heard["state"]) == (
            session["sessionId"],
            1,
            "external",
            "partialUserTurn",
        )
        [call] = two.request("agents/pending")["items"]
        outcome = {"kind": "result", "content": "from two"}
        done = two.request("agents/complete", token=call["token"], outcome=outcome)
        assert done["session"] == one.request("agents/get", sessionId=session["sessionId"])["session"]
        late = one.request("agents/complete", token=call["token"], outcome={"kind": "cancel"})
        assert (late["applied"], late["resolution"]["by"]) == (False, "two")


def _waiting(peer: Peer) -> Any:
    heard = peer.hear("agents/summary")
    return heard if heard["pendingCount"] else None


def test_inputs_of_two_clients_at_once_are_both_taken_in_one_order(place: Place) -> None:
    session = started(place, script=[{"echo": True}], loop=True)
    with place.peer("one") as one, place.peer("two") as two:
        asked = [
            (
                peer,
                peer.start("agents/send", sessionId=session["sessionId"], prompt=f"{name} {number}", delivery="queue"),
            )
            for number in range(5)
            for name, peer in (("one", one), ("two", two))
        ]
        positions = sorted(peer.answer(request)["position"] for peer, request in asked)
        assert positions == list(range(1, 11))
        one.request("agents/run", sessionId=session["sessionId"])
        items = two.request("agents/transcript", sessionId=session["sessionId"])["items"]
    inputs = [item["parts"][0]["text"] for item in items if item["kind"] == "input"]
    answers = [item["text"] for item in items if item["kind"] == "answer"]
    assert inputs == answers
    assert sorted(inputs[1:]) == sorted(f"{name} {number}" for name in ("one", "two") for number in range(5))
    assert [one for one in inputs if one.startswith("one")] == [f"one {number}" for number in range(5)]


def test_the_exit_of_one_client_leaves_the_other(place: Place) -> None:
    with place.peer("one") as one, place.peer("two") as two:
        one.request("shutdown")
        one.notify("exit", {})
        assert one.ended()
        until(lambda: two.request("agents/status")["clients"] == 1, "for the client to be gone")


def test_a_client_that_vanishes_leaves_its_calls_pending(place: Place) -> None:
    peer = place.peer("gone")
    start = {"config": place.config(script=[calls(("ext", {}))]), "prompt": "x", "cwd": "/", "run": "turn"}
    session = peer.request("agents/start", **start)
    peer.hang_up()
    until(lambda: place.rpc("agents/status")["clients"] == 1)
    assert place.session(session["sessionId"]) == session


def events(peer: Peer, session_id: str, after: int = 0, **more: Any) -> list[Any]:
    """Every event after that number, in pages of seven."""
    found: list[Any] = []
    while True:
        page = peer.request("agents/events", sessionId=session_id, after=after, limit=7, **more)
        assert page["status"] == "ok"
        found += page["events"]
        if not page["hasMore"]:
            return found
        after = page["nextSeq"] - 1


def test_events_are_numbered_without_a_gap_and_the_same_after_a_restart(place: Place) -> None:
    script = [calls(("bump", {}), ("sh", {"command": "true"})), says("end")]
    session = started(place, run="turn", script=script, rules=[deferred("sh")])
    with place.peer() as peer:
        before = events(peer, session["sessionId"])
    place.kill_daemon()
    with place.peer() as peer:
        assert events(peer, session["sessionId"]) == before
        token = session["pending"][0]["token"]
        peer.request("agents/complete", token=token, outcome={"kind": "result", "content": "x"}, resume=True)
        after = events(peer, session["sessionId"], after=len(before))
        assert events(peer, session["sessionId"]) == before + after
        far = peer.request("agents/events", sessionId=session["sessionId"], after=10_000)
        assert (far["status"], far["events"]) == ("expired", [])
    whole = before + after
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    types = [event["event"]["type"] for event in whole if event["event"].get("pending", {}).get("kind") != "running"]
    once = ("turn/started", "pending/added", "pending/resolved", "turn/completed")
    assert [types.count(one) for one in once] == [1] * 4


def test_a_long_poll_for_events_returns_when_something_happens_or_its_time_is_over(place: Place) -> None:
    session = started(place, script=[says("end")])
    with place.peer() as peer:
        seen = len(events(peer, session["sessionId"]))
        empty = peer.request("agents/events", sessionId=session["sessionId"], after=seen, waitMs=1)
        assert (empty["events"], empty["nextSeq"], empty["hasMore"]) == ([], seen + 1, False)
        poll = peer.start("agents/events", sessionId=session["sessionId"], after=seen, waitMs=30_000)
        peer.request("agents/step", sessionId=session["sessionId"])
        woken = peer.answer(poll)
        assert woken["events"][0]["seq"] == seen + 1


def test_ten_sessions_run_side_by_side_on_one_connection(place: Place) -> None:
    agent = str(place.agent(script=[calls(("bump", {}), ("bump", {})), says("end")], limits={"maxConcurrency": 2}))
    requests = [
        {"id": f"s{number}", "method": "agents/start", "params": {"agentFile": agent, "prompt": "x", "run": "turn"}}
        for number in range(10)
    ]
    written = "".join(json.dumps(request) + "\n" for request in requests) + "no JSON\n"
    done = place.run("rpc", "-", stdin=written)
    answers = {answer["id"]: answer for answer in map(json.loads, done.out.splitlines())}
    assert answers.pop(None)["error"]["code"] == -32700
    assert {name: answer["result"]["output"] for name, answer in answers.items()} == {
        f"s{number}": "end" for number in range(10)
    }
    assert (done.code, place.ran(), len(place.rpc("agents/sessions")["items"])) == (0, 20, 10)


def test_a_long_step_of_one_session_delays_nobody_else(place: Place) -> None:
    make_gate(place)
    slow = started(place, run="step", script=[gated(place)])
    with place.peer() as peer:
        step = peer.start("agents/step", sessionId=slow["sessionId"])
        until(lambda: place.ran() == 1)
        start = {"config": place.config(script=[says("quick")]), "prompt": "x", "cwd": "/", "run": "turn"}
        assert peer.request("agents/start", **start)["output"] == "quick"
        open_gate(place)
        assert peer.answer(step)["outcome"] == "advanced"


def test_a_call_that_a_step_waits_for_is_nobody_elses_to_complete(place: Place) -> None:
    session = started(place, run="turn", wait=False, script=[calls(("slow", {}))])
    until(lambda: place.ran() == 1)
    [_, item] = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/complete", token=item["call"]["token"], outcome={"kind": "result", "content": "x"})
    assert (refused.value.kind, refused.value.data["legal"]) == ("state/invalid", [])
    assert place.rpc("agents/pending")["items"] == []


def test_the_agents_are_listed_with_what_is_wrong_with_them(place: Place) -> None:
    (place.agents / "good.json").write_text(json.dumps(place.config("good", script=[says("x")], description="does it")))
    (place.agents / "bad.json").write_text('{"slug": "bad",\n oops}')
    listed = {item["slug"]: item for item in place.rpc("agents/list", cwd=str(place.work))["items"]}
    assert {slug: item["state"] for slug, item in listed.items()} == {"good": "ok", "bad": "invalid"}
    [diagnostic] = listed["bad"]["diagnostics"]
    assert (diagnostic["severity"], diagnostic["range"]["start"]) == (1, {"line": 1, "character": 1})
    shown = place.run("agents", "list")
    assert shown.out == (f"bad  invalid  {place.agents}/bad.json\ngood  ok  {place.agents}/good.json  does it\n")
    assert place.abey("run", "-p", "x") == "x\n"


def test_a_text_is_validated_without_being_saved(place: Place) -> None:
    good = place.rpc("agents/validate", text=json.dumps(place.config(script=[])))["diagnostics"]
    bad = place.rpc("agents/validate", text='{"slug": 1}')["diagnostics"]
    assert ([one for one in good if one["severity"] == 1], {one["severity"] for one in bad}) == ([], {1})


def test_the_policy_explains_itself(place: Place) -> None:
    agent = place.agent(rules=[deferred("sh", "look first"), {"tool": "*", "disposition": "deny"}])
    told = place.json("agents", "explain", "--agent-file", str(agent), "sh", '{"command": "ls"}')
    assert told["disposition"] == "deny"
    allowed = place.agent(rules=[deferred("sh", "look first")])
    shown = place.abey("agents", "explain", "--agent-file", str(allowed), "sh", '{"command": "ls"}')
    assert shown.splitlines()[0] == 'disposition: {"tag": "defer", "reason": "look first"}'
    assert place.ran() == 0


def test_the_status_says_who_and_what_is_there(place: Place) -> None:
    started(place, run="turn", script=[calls(("ext", {}))])
    status = place.json("daemon", "status")
    assert (status["daemon"]["pid"], status["daemon"]["stateDir"]) == (place.daemon_pid(), str(place.state))
    assert (status["sessions"], status["durability"], status["state"]) == (
        {"loaded": 1, "running": 0},
        "power",
        "running",
    )
    lines = place.abey("daemon", "status").splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "daemon",
        "build",
        "state-dir",
        "socket",
        "clients",
        "sessions",
        "durability",
    ]


def test_a_cancel_ends_a_turn_in_the_middle_of_a_tool(place: Place) -> None:
    session = started(place, run="turn", wait=False, script=[calls(("slow", {})), says("next")])
    until(lambda: place.ran() == 1)
    cancelled = place.json("session", "cancel", session["sessionId"])
    assert (cancelled["applied"], cancelled["session"]["turn"]["end"]) == (True, "cancelled")
    again = place.run("session", "cancel", session["sessionId"])
    assert (again.code, again.err) == (0, "no turn is running: nothing was cancelled\n")
    [_, item] = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    assert (item["call"]["state"], item["call"]["mayHaveRun"], item["call"]["output"]) == (
        "cancelled",
        True,
        "cancelled by user; it had started and may have run",
    )
    assert place.abey("session", "step", session["sessionId"], "-p", "hi") == "State: LlmTurn (completed)\nnext\n"


def test_a_cancel_ends_a_turn_in_the_middle_of_a_model_call(place: Place) -> None:
    with place.peer() as peer:
        config = place.config(script=[{"text": "late", "delayMs": 60_000}, says("next")])
        session = peer.request("agents/start", config=config, prompt="x", cwd="/")
        run = peer.start("agents/run", sessionId=session["sessionId"])
        until(lambda: place.session(session["sessionId"])["activity"] == "model")
        turn_id = place.session(session["sessionId"])["turn"]["turnId"]
        other = place.rpc("agents/cancel", sessionId=session["sessionId"], turnId="another")
        assert other["applied"] is False
        cancelled = place.rpc("agents/cancel", sessionId=session["sessionId"], turnId=turn_id, reason="enough")
        assert (cancelled["applied"], cancelled["session"]["turn"]["end"]) == (True, "cancelled")
        assert peer.answer(run)["outcome"] == "cancelled"
        again = peer.request("agents/send", sessionId=session["sessionId"], prompt="hi", run="turn")
        assert again["session"]["output"] == "next"


def test_a_paused_session_takes_a_step_only_when_told_to_and_resumes(place: Place) -> None:
    session = started(place, script=[calls(("ext", {})), says("end")])
    named = session["sessionId"]
    paused = place.abey("session", "pause", named, "--reason", "lunch")
    assert paused == "State: UserTurn (ready for LLM)\n  paused: lunch\n"
    place.kill_daemon()
    assert place.session(named)["paused"]["reason"] == "lunch"
    run = place.rpc("agents/run", sessionId=named)
    assert (run["outcome"], run["steps"]) == ("paused", 0)
    assert place.abey("session", "step", named).splitlines()[0] == "State: LlmTurn"
    place.abey("session", "step", named)
    [call] = place.rpc("agents/pending", sessionId=named)["items"]
    outcome = {"kind": "result", "content": "x"}
    kept = place.rpc("agents/complete", token=call["token"], outcome=outcome, resume=True)
    assert (kept["applied"], kept["session"]["state"], "paused" in kept["session"]) == (True, "userTurn", True)
    assert place.abey("session", "resume", named) == "end\n"
    assert "paused" not in place.session(named)


def test_an_approval_while_paused_is_recorded_and_its_call_starts_on_resume(place: Place) -> None:
    session = started(place, run="turn", script=[calls(("bump", {})), says("end")], rules=[deferred("bump")])
    named, [call] = session["sessionId"], session["pending"]
    place.abey("session", "pause", named)
    place.abey("session", "approve", call["token"], "--hash", call["argumentsHash"])
    assert (place.ran(), place.session(named)["pending"]) == (0, [])
    place.kill_daemon()
    assert place.abey("session", "resume", named) == "end\n"
    assert place.ran() == 1


def test_a_daemon_told_to_drain_finishes_the_running_step_and_takes_no_new_one(place: Place) -> None:
    make_gate(place)
    session = started(place, run="step", script=[gated(place), says("end")])
    with place.peer("one") as one, place.peer("two") as two:
        step = one.start("agents/step", sessionId=session["sessionId"])
        until(lambda: place.ran() == 1)
        two.start("agents/shutdown", mode="drain")
        assert one.hear("agents/daemon") == {"state": "draining"}
        with pytest.raises(Refusal) as refused:
            one.request("agents/step", sessionId=session["sessionId"])
        open_gate(place)
        done = one.answer(step)
        assert (refused.value.kind, done["outcome"]) == ("daemon/draining", "advanced")
        assert one.ended()
    assert place.abey("session", "resume", session["sessionId"]) == "end\n"
    assert place.ran() == 1


def test_a_daemon_told_to_drain_by_a_client_that_then_leaves_ends_all_the_same(place: Place) -> None:
    make_gate(place)
    session = started(place, run="step", script=[gated(place), says("end")])
    with place.peer("one") as one:
        step = one.start("agents/step", sessionId=session["sessionId"])
        until(lambda: place.ran() == 1)
        with place.peer("two") as two:
            two.start("agents/shutdown", mode="drain")
            assert two.hear("agents/daemon") == {"state": "draining"}
        open_gate(place)
        assert one.answer(step)["outcome"] == "advanced"
        assert one.ended()


def test_the_installed_programs_name_their_version(place: Place) -> None:
    versions = [
        subprocess.run([PROGRAMS / name, "--version"], env=place.env, capture_output=True, text=True, check=True).stdout
        for name in ("abey", "abey-daemon")
    ]
    assert [line.split()[0] for line in versions] == ["abey", "abey-daemon"]
    assert len({line.split()[1] for line in versions}) == 1
