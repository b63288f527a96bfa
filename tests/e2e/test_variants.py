"""Every other way a call or a model call can go, through the installed programs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.e2e import Place, calls, says, until
from support.e2e_crash import Nursery
from support.e2e_peer import Peer, Refusal


@pytest.fixture
def peer(place: Place) -> Iterator[Peer]:
    with place.peer() as peer:
        yield peer


class Run:
    """One session over one connection."""

    def __init__(self, place: Place, peer: Peer, config: dict[str, Any], run: str = "turn") -> None:
        self.place = place
        self.peer = peer
        self.session = peer.request("agents/start", config=config, prompt="go", cwd=str(place.work), run=run)
        self.id: str = self.session["sessionId"]

    @property
    def pending(self) -> list[Any]:
        items: list[Any] = self.peer.request("agents/pending", sessionId=self.id)["items"]
        return items

    def complete(self, call: Any, kind: str, **more: Any) -> Any:
        outcome = {"kind": kind, **{name: value for name, value in more.items() if name != "resume"}}
        bound = {"argumentsHash": call["argumentsHash"]} if kind in ("approve", "rerun") else {}
        resume = {"resume": True} if more.get("resume") else {}
        return self.peer.request("agents/complete", token=call["token"], outcome=outcome, **bound, **resume)

    def go(self) -> Any:
        return self.peer.request("agents/run", sessionId=self.id)

    def calls(self) -> list[tuple[str, str, Any]]:
        """Tool, state and output of every call in the transcript."""
        items = self.peer.request("agents/transcript", sessionId=self.id)["items"]
        found = [item["call"] for item in items if "call" in item]
        return [(call["tool"], call["state"], call.get("output")) for call in found]


ASK = {"default": {"tag": "defer", "reason": "ask"}}


def test_an_approved_call_is_run_by_the_daemon_once(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("bump", {})), says("end")], **ASK))
    [call] = run.pending
    done = run.complete(call, "approve")
    assert (done["applied"], done["turnComplete"], done["session"]["state"]) == (True, True, "userTurn")
    assert (run.calls(), place.ran()) == ([("bump", "completed", "bumped\n")], 1)
    assert run.go()["session"]["output"] == "end"


def test_an_approval_that_resumes_answers_with_the_final_answer(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("bump", {})), says("end")], **ASK))
    done = run.complete(run.pending[0], "approve", resume=True)
    assert (done["applied"], done["session"]["state"], done["session"]["output"]) == (True, "completed", "end")


def test_edited_arguments_are_exactly_what_runs_in_the_cwd_of_the_session(place: Place) -> None:
    script = [calls(("sh", {"command": "echo no > proposed"})), says("end")]
    agent = place.agent(script=script, **ASK)
    session_id = place.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    for _ in range(2):
        place.abey("session", "step", session_id)
    elsewhere = place.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "edited.json").write_text('{"command": "pwd; echo yes > edited"}')
    token = place.abey("session", "pending", "-q").strip()
    done = place.run("session", "approve", token, "--arguments", "edited.json", cwd=elsewhere)
    assert (done.code, done.out) == (0, "State: UserTurn (ready for LLM)\n")
    assert sorted(path.name for path in (*place.work.iterdir(), *elsewhere.iterdir())) == [
        "a.json",
        "edited",
        "edited.json",
    ]
    [_, item] = place.rpc("agents/transcript", sessionId=session_id)["items"]
    call = item["call"]
    assert (call["arguments"], call["effectiveArguments"], call["output"], call["decision"]["edited"]) == (
        {"command": "echo no > proposed"},
        {"command": "pwd; echo yes > edited"},
        f"{place.work}\n",
        True,
    )


def test_edited_arguments_that_do_not_fit_the_schema_leave_the_call_pending(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("sh", {"command": "true"}))], **ASK))
    with pytest.raises(Refusal) as refused:
        run.complete(run.pending[0], "approve", arguments={"command": 7})
    assert (refused.value.kind, [call["kind"] for call in run.pending]) == ("arguments/invalid", ["approval"])


def test_an_approval_with_the_hash_of_another_call_is_a_mismatch_that_names_the_right_one(
    place: Place, peer: Peer
) -> None:
    script = [calls(("bump", {"x": "1"}), ("bump", {"x": "1"}))]
    run = Run(place, peer, place.config(script=script, **ASK))
    first, second = run.pending
    with pytest.raises(Refusal) as refused:
        run.complete({**first, "argumentsHash": second["argumentsHash"]}, "approve")
    assert (refused.value.kind, refused.value.data["argumentsHash"]) == ("arguments/mismatch", first["argumentsHash"])
    assert (len(run.pending), place.ran()) == (2, 0)


def test_a_denial_is_a_result_for_the_model_and_the_turn_goes_on(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("bump", {})), says("understood")], **ASK))
    done = run.complete(run.pending[0], "deny", message="not today", resume=True)
    assert (done["resolution"]["kind"], done["session"]["output"]) == ("deny", "understood")
    assert (run.calls(), place.ran()) == ([("bump", "denied", "denied by user: not today")], 0)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_calls_complete_in_either_order_and_are_told_in_the_order_of_the_model(
    place: Place, peer: Peer, order: tuple[int, int]
) -> None:
    run = Run(place, peer, place.config(script=[calls(("ext", {"n": 1}), ("ext", {"n": 2})), says("end")]))
    pending = run.pending
    states = []
    for number in order:
        done = run.complete(pending[number], "result", content=f"result {number}")
        states.append((done["turnComplete"], done["session"]["state"]))
    assert states == [(False, "partialUserTurn"), (True, "userTurn")]
    assert run.calls() == [("ext", "completed", "result 0"), ("ext", "completed", "result 1")]
    assert run.go()["session"]["output"] == "end"


ASYNC = {"tool": "*", "disposition": "runAsync"}


def test_a_background_call_resolves_by_itself(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("bump", {})), says("end")], rules=[ASYNC]), run="none")
    for _ in range(2):
        peer.request("agents/step", sessionId=run.id)
    until(lambda: place.session(run.id)["state"] == "userTurn", "for the background call")
    assert (run.calls(), place.ran()) == ([("bump", "completed", "bumped\n")], 1)
    assert run.go()["session"]["output"] == "end"


def test_a_background_call_that_is_completed_from_outside_first_keeps_that_result(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("slow", {})), says("end")], rules=[ASYNC]))
    [call] = run.pending
    assert (call["kind"], run.session["state"], run.session["activity"]) == ("running", "partialUserTurn", "idle")
    until(lambda: place.ran() == 1)
    done = run.complete(call, "result", content="from outside")
    assert (done["applied"], done["session"]["state"]) == (True, "userTurn")
    assert run.go()["session"]["output"] == "end"
    until(lambda: peer.request("agents/status")["sessions"]["running"] == 0)
    again = run.complete(call, "result", content="later still")
    assert (again["applied"], again["resolution"]["kind"]) == (False, "result")
    assert (run.calls(), place.ran()) == ([("slow", "completed", "from outside")], 1)


def test_a_run_until_the_end_of_the_turn_waits_for_a_completion_from_anywhere(place: Place, peer: Peer) -> None:
    run = Run(place, peer, place.config(script=[calls(("ext", {})), says("end")]))
    waiting = peer.start("agents/run", sessionId=run.id, until="turn")
    place.abey("session", "complete", run.pending[0]["token"], "--text", "x")
    done = peer.answer(waiting)
    assert (done["outcome"], done["session"]["output"]) == ("completed", "end")


@pytest.mark.parametrize(
    ("entry", "call"),
    [
        (calls(("bad", {})), ("bad", "failed", "half\n[exit code 3]")),
        (
            calls(("nothing", {})),
            (
                "nothing",
                "failed",
                "tool/unknown: there is no tool named nothing; the tools are: bad, bump, ext, sh, slow",
            ),
        ),
        (calls(("sh", {})), ("sh", "failed", "tool/invalid-arguments: ")),
        ({"calls": [{"tool": "bump", "rawArguments": '{"x": '}]}, ("bump", "failed", "tool/invalid-arguments: ")),
        ({"calls": [{"tool": "bump", "rawArguments": "[1]"}]}, ("bump", "failed", "tool/invalid-arguments: ")),
        ({"calls": [{"tool": "bump", "rawArguments": '{"x": NaN}'}]}, ("bump", "failed", "tool/invalid-arguments: ")),
        ({"calls": [{"tool": "bump", "arguments": {}, "id": ""}]}, ("bump", "failed", "tool/invalid-call-id: ")),
    ],
    ids=["exit 3", "no such tool", "against the schema", "not JSON", "no object", "NaN", "empty id"],
)
def test_a_call_that_cannot_work_is_a_failed_result_and_the_turn_goes_on(
    place: Place, peer: Peer, entry: dict[str, Any], call: tuple[str, str, str]
) -> None:
    run = Run(place, peer, place.config(script=[entry, says("I see")]))
    [(tool, state, output)] = run.calls()
    assert (tool, state, output[: len(call[2])]) == call
    assert (run.session["output"], place.ran()) == ("I see", 0)


def test_a_repeated_call_id_fails_and_its_namesake_runs(place: Place, peer: Peer) -> None:
    twice = {"calls": [{"tool": "bump", "arguments": {}, "id": "one"}, {"tool": "bump", "arguments": {}, "id": "one"}]}
    run = Run(place, peer, place.config(script=[twice, says("I see")]))
    assert [state for _, state, _ in run.calls()] == ["completed", "failed"]
    assert (run.session["output"], place.ran()) == ("I see", 1)


def test_a_tool_that_takes_too_long_is_a_failed_result(place: Place, peer: Peer) -> None:
    config = place.config(script=[calls(("slow", {})), says("I see")], limits={"toolTimeoutSeconds": 0.2})
    run = Run(place, peer, config)
    assert run.calls() == [("slow", "failed", "[timed out after 0.2 seconds]")]
    assert run.session["output"] == "I see"


def test_a_model_error_is_told_and_the_next_step_tries_again(place: Place) -> None:
    agent = place.agent(script=[{"error": {"code": "auth", "message": "no such key"}}, says("now it works")])
    session_id = place.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    failed = place.run("session", "step", session_id)
    assert (failed.code, failed.out, failed.err) == (
        1,
        f"session-id: {session_id}\n",
        f"abey: no such key (model/auth); mend the key, then `abey session resume {session_id}` goes on\n",
    )
    session = place.session(session_id)
    assert (session["state"], session["lastError"]["kind"], session["lastError"]["message"]) == (
        "userTurn",
        "model/auth",
        "no such key",
    )
    assert place.abey("session", "step", session_id) == "State: LlmTurn (completed)\nnow it works\n"
    assert "lastError" not in place.session(session_id)


def test_a_model_error_carries_the_session_that_it_left(place: Place) -> None:
    agent = place.agent(script=[{"error": {"code": "context-overflow"}}])
    error = place.json("session", "start", "--agent-file", str(agent), "-p", "x", "--step", code=1)["error"]
    assert (error["code"], error["data"]["kind"], error["data"]["retryable"]) == (
        -31017,
        "model/context-overflow",
        False,
    )
    session = error["data"]["session"]
    assert (session["sessionId"], session["state"]) == (error["data"]["sessionId"], "userTurn")


def test_a_transient_failure_is_tried_again_within_the_step(place: Place, peer: Peer) -> None:
    wait = {"code": "rate-limited", "retryAfterMs": 1}
    script = [{"error": wait}, {"text": "cut in two", "cutAfter": 3}, says("third time")]
    run = Run(place, peer, place.config(script=script), run="step")
    assert (run.session["output"], run.session["revision"]) == ("third time", 5)


def test_a_content_filter_ends_the_turn_failed(place: Place) -> None:
    agent = place.agent(script=[{"text": "x", "finishReason": "content_filter"}, says("next turn")])
    done = place.run("run", "--agent-file", str(agent), "-p", "x")
    [session] = place.json("session", "list")["items"]
    assert (session["state"], session["turn"]["end"], session["lastError"]["kind"]) == (
        "completed",
        "failed",
        "model/content-policy",
    )
    assert (done.code, done.out) == (7, "")
    assert place.abey("session", "step", session["sessionId"], code=7) == (
        "State: LlmTurn (failed)\n  error: the answer was stopped by a content filter (model/content-policy)\n"
    )
    assert (
        place.abey("session", "step", session["sessionId"], "-p", "again") == "State: LlmTurn (completed)\nnext turn\n"
    )


def test_the_limit_of_steps_ends_the_turn(place: Place) -> None:
    agent = place.agent(script=[calls(("bump", {}))], loop=True, limits={"maxSteps": 4})
    done = place.run("run", "--agent-file", str(agent), "-p", "x")
    [session] = place.json("session", "list")["items"]
    assert (session["turn"]["end"], session["lastError"]["kind"], done.code) == ("limit", "budget/exhausted", 7)
    assert place.ran() == 2


def test_a_synchronous_run_denies_what_would_wait(place: Place, peer: Peer) -> None:
    config = place.config(script=[calls(("ext", {}), ("bump", {})), says("done")], executionMode="synchronous")
    run = Run(place, peer, config, run="none")
    done = peer.request("agents/run", sessionId=run.id, synchronous=True)
    told = "needs a decision, and this run is synchronous"
    assert (done["session"]["output"], run.calls()) == (
        "done",
        [("ext", "denied", told), ("bump", "completed", "bumped\n")],
    )


TYPED = {"type": "json", "content": {"b": 1, "a": [None, 1.5, "ü"]}}


@pytest.mark.parametrize(
    ("kind", "more", "state", "output"),
    [
        ("result", {"content": "plain"}, "completed", "plain"),
        ("result", {"content": ""}, "completed", ""),
        ("result", {"content": None}, "completed", None),
        ("result", {"content": {"b": 1, "a": 2}}, "completed", {"b": 1, "a": 2}),
        ("result", {"content": [1, "two", False]}, "completed", [1, "two", False]),
        ("result", {"content": TYPED}, "completed", TYPED),
        ("result", {"content": {"type": "text", "content": "t"}}, "completed", {"type": "text", "content": "t"}),
        ("result", {"content": {"type": "unknown", "x": 1}}, "completed", {"type": "unknown", "x": 1}),
        ("error", {"message": "it broke"}, "failed", "it broke"),
        ("deny", {}, "denied", "denied by user"),
        ("deny", {"message": "no"}, "denied", "denied by user: no"),
        ("cancel", {}, "cancelled", "cancelled by user; it was not run"),
    ],
)
def test_every_outcome_is_taken_as_it_is_and_kept(
    place: Place, peer: Peer, nursery: Nursery, kind: str, more: dict[str, Any], state: str, output: Any
) -> None:
    run = Run(place, peer, place.config(script=[calls(("ext", {})), says("end")]))
    done = run.complete(run.pending[0], kind, **more)
    assert (done["applied"], done["resolution"]["kind"], done["turnComplete"]) == (True, kind, True)
    assert run.calls() == [("ext", state, output)]
    place.kill_daemon()
    with nursery.wake(place) as run.peer:
        assert run.go()["session"]["output"] == "end"
        assert run.calls() == [("ext", state, output)]


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("ext", "approve"), ("ext", "answer"), ("ext", "rerun"), ("bump", "answer"), ("bump", "rerun")],
)
def test_an_outcome_that_is_not_legal_leaves_the_call_alone(place: Place, peer: Peer, tool: str, kind: str) -> None:
    run = Run(place, peer, place.config(script=[calls((tool, {}))], **ASK))
    [before] = run.pending
    more = {"value": True} if kind == "answer" else {}
    with pytest.raises(Refusal) as refused:
        run.complete(before, kind, **more)
    assert (refused.value.kind, refused.value.data["state"], run.pending) == ("state/invalid", "deferred", [before])


def test_what_may_have_run_is_run_again_only_by_an_explicit_choice(place: Place) -> None:
    agent = place.agent(script=[calls(("slow", {})), says("end")], default="runAsync")
    start = ("session", "start", "--agent-file", str(agent), "-p", "x", "-q")
    session_id = place.abey(*start).strip()
    for _ in range(2):
        place.abey("session", "step", session_id)
    until(lambda: place.ran() == 1)
    place.kill_daemon()
    shown = place.abey("session", "step", session_id, code=3)
    [call] = place.json("session", "pending", session_id)["items"]
    assert shown == (
        "State: PartialUserTurn\n  completed: 0\n  deferred:  1\n  ready:     0\n"
        f"  token: {call['token']} (slow) may have run, started {call['startedAt']}\n"
    )
    assert (call["kind"], place.ran()) == ("uncertain", 1)
    params = {"token": call["token"], "outcome": {"kind": "rerun"}, "argumentsHash": call["argumentsHash"]}
    again = place.rpc("agents/complete", **params, wait=False)
    until(lambda: place.ran() == 2)
    assert (again["applied"], again["resolution"]["kind"]) == (True, "rerun")
    done = place.json("session", "cancel", session_id)
    assert (done["applied"], done["session"]["turn"]["end"]) == (True, "cancelled")
    [_, item] = place.rpc("agents/transcript", sessionId=session_id)["items"]
    assert (item["call"]["state"], item["call"]["mayHaveRun"]) == ("cancelled", True)


def test_an_idempotent_call_that_was_cut_is_simply_run_again(place: Place) -> None:
    tools = place.tools()
    tools[0]["idempotent"] = True
    tools[0]["argv"] = ["sh", "-c", f"echo line >> {place.count}; test $(wc -l < {place.count}) -gt 1 || sleep 300"]
    agent = place.agent(script=[calls(("bump", {})), says("end")], default="runAsync", tools=tools)
    session_id = place.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    for _ in range(2):
        place.abey("session", "step", session_id)
    until(lambda: place.ran() == 1)
    place.kill_daemon()
    assert place.abey("session", "resume", session_id, "--until", "turn") == "end\n"
    assert place.ran() == 2


def test_the_client_who_answered_is_on_record(place: Place) -> None:
    config = place.config(script=[calls(("ext", {}))])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn")
    done = place.json("session", "complete", session["pending"][0]["token"], "--data", json.dumps({"x": 1}))
    resolution = done["resolution"]
    assert (resolution["kind"], resolution["by"], resolution["client"]["kind"]) == ("result", "abey", "cli")
    assert resolution["text"].startswith("completed with a result by abey")
