"""Inputs that wait, through the installed programs: durable, withdrawn, each with one end; and turns without input."""

from typing import Any

import pytest
from support.e2e import Place, calls, says, until
from support.e2e_peer import Refusal

SCRIPT = (calls(("ext", {})), says("one"), says("two"), says("three"), says("four"))


def waiting(place: Place, **config: Any) -> str:
    """A session that waits for a result from outside."""
    params = {"prompt": "x", "cwd": str(place.work), "run": "turn"}
    config = place.config(**{"script": SCRIPT, **config})
    return str(place.rpc("agents/start", config=config, **params)["sessionId"])


def send(place: Place, session_id: str, input_id: str, delivery: str = "queue") -> int:
    params = {"prompt": input_id, "inputId": input_id, "delivery": delivery}
    return int(place.rpc("agents/send", sessionId=session_id, **params)["position"])


def answer(place: Place, session_id: str) -> None:
    [call] = place.session(session_id)["pending"]
    place.rpc("agents/complete", token=call["token"], outcome={"kind": "result", "content": "ok"})


def transcript(place: Place, session_id: str) -> list[tuple[str, str]]:
    """Every input and answer, in its order."""
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    said = [
        (item["kind"], item.get("text") or "".join(part["text"] for part in item.get("parts", ()))) for item in items
    ]
    return [one for one in said if one[0] in ("input", "answer")]


def ends(place: Place, session_id: str) -> list[tuple[str, str]]:
    """The events about inputs."""
    told = [one["event"] for one in place.rpc("agents/events", sessionId=session_id)["events"]]
    return [(one["inputId"], one["type"]) for one in told if one["type"].startswith("input/")]


def test_what_waits_outlives_a_killed_daemon_and_is_taken_in_its_order(place: Place) -> None:
    session_id = waiting(place)
    places = [send(place, session_id, name, how) for name, how in (("t", "turn"), ("q", "queue"), ("i", "interrupt"))]
    place.kill_daemon()
    queued = place.session(session_id)["queued"]
    assert (places, [one["inputId"] for one in queued]) == ([1, 2, 1], ["i", "t", "q"])
    shown = place.abey("session", "show", session_id).splitlines()
    assert shown[-4:] == ["  queued: 3", "    i (interrupt): i", "    t (turn): t", "    q (queue): q"]
    answer(place, session_id)
    place.kill_daemon()
    assert place.abey("session", "resume", session_id) == "three\n"
    assert transcript(place, session_id) == [
        ("input", "x"),
        ("input", "i"),
        ("answer", "one"),
        ("input", "t"),
        ("answer", "two"),
        ("input", "q"),
        ("answer", "three"),
    ]


def test_a_repeat_is_the_same_input_whatever_became_of_it(place: Place) -> None:
    session_id = waiting(place)
    send(place, session_id, "w")
    send(place, session_id, "q")
    assert place.abey("session", "withdraw", session_id, "w").endswith("  queued: 1\n")
    assert place.abey("session", "withdraw", session_id, "w").endswith("  queued: 1\n")
    place.kill_daemon()
    revision = place.session(session_id)["revision"]
    assert [send(place, session_id, name) for name in ("w", "q")] == [0, 1]
    assert place.session(session_id)["revision"] == revision
    answer(place, session_id)
    assert place.abey("session", "resume", session_id) == "two\n"
    assert ends(place, session_id)[1:] == [
        ("w", "input/queued"),
        ("q", "input/queued"),
        ("w", "input/withdrawn"),
        ("q", "input/committed"),
    ]
    refused = place.run("session", "withdraw", session_id, "q")
    said = f"input q is in the transcript already; `abey session cancel {session_id}` ends the turn that it belongs to"
    assert (refused.code, refused.err) == (1, f"abey: {said} (state/invalid)\n")


def test_a_turn_without_input_waits_and_is_rejected_by_an_answer(place: Place) -> None:
    session_id = waiting(place)
    asked = place.rpc("agents/continue", sessionId=session_id)
    [queued] = asked["queued"]
    assert (asked["state"], queued["delivery"]) == ("partialUserTurn", "queue")
    shown = place.abey("session", "show", session_id)
    assert f"    {queued['inputId']} (queue)\n" in shown
    place.kill_daemon()
    answer(place, session_id)
    assert place.abey("session", "resume", session_id) == "one\n"
    assert ends(place, session_id)[1:] == [
        (queued["inputId"], "input/queued"),
        (queued["inputId"], "input/rejected"),
    ]
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/continue", sessionId=session_id)
    assert (refused.value.kind, refused.value.data["legal"]) == (
        "state/invalid",
        ["userTurn", "llmTurn", "partialUserTurn"],
    )


def test_a_cancelled_turn_goes_on_without_another_word(place: Place) -> None:
    session_id = waiting(place)
    place.abey("session", "cancel", session_id)
    done = place.run("session", "continue", session_id)
    assert (done.code, done.out, done.err) == (0, "one\n", "")
    assert transcript(place, session_id) == [("input", "x"), ("answer", "one")]
    again = place.run("session", "continue", session_id)
    assert (again.code, f"`abey session send {session_id} TEXT` says something" in again.err) == (1, True)


def test_a_continue_is_busy_while_the_model_answers_and_remembered_by_its_key(place: Place) -> None:
    session_id = waiting(place, script=[calls(("ext", {})), {"text": "late", "delayMs": 60_000}, says("end")])
    place.abey("session", "cancel", session_id)
    first = {"sessionId": session_id, "wait": False, "idempotencyKey": "k"}
    revision = place.rpc("agents/continue", **first)["revision"]
    until(lambda: place.session(session_id)["activity"] == "model")
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/continue", sessionId=session_id)
    assert refused.value.kind == "session/busy"
    repeated = place.rpc("agents/continue", **first)
    assert (repeated["replayed"], repeated["revision"]) == (True, revision)


def test_a_stop_tells_of_everything_that_waited(place: Place) -> None:
    session_id = waiting(place)
    for name, how in (("t", "turn"), ("i", "interrupt")):
        send(place, session_id, name, how)
    place.abey("session", "stop", session_id, "--yes")
    assert ends(place, session_id)[-2:] == [("t", "input/stopped"), ("i", "input/stopped")]


def test_the_257th_input_that_waits_is_refused(place: Place) -> None:
    session_id = waiting(place)
    with place.peer() as peer:
        for index in range(256):
            params = {"sessionId": session_id, "prompt": "more", "inputId": f"i{index}", "delivery": "queue"}
            peer.request("agents/send", **params)
        with pytest.raises(Refusal) as refused:
            peer.request("agents/send", sessionId=session_id, prompt="one too many")
    assert (refused.value.kind, refused.value.data["retryAfterMs"]) == ("overloaded", 1000)


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_an_answer_that_does_not_fit_is_repaired_once(place: Place) -> None:
    script = [says("Paris"), says('{"city": "Paris"}')]
    agent = place.agent(script=script, outputSchema=SCHEMA)
    done = place.run("run", "--agent-file", str(agent), "-p", "which city?", "-q")
    assert (done.code, done.out) == (0, '{"city": "Paris"}\n')


def test_an_answer_that_never_fits_is_a_failure_that_a_later_step_may_mend(place: Place) -> None:
    script = [says("Paris"), says('{"city": 1}'), says('{"city": "Paris"}')]
    agent = place.agent(script=script, outputSchema=SCHEMA)
    done = place.run("run", "--agent-file", str(agent), "-p", "which city?")
    session_id = done.err.split()[1]
    assert (done.code, done.out) == (1, "")
    wrong = 'at /city: 1 is not of type "string"'
    said = f"abey: the answer is not what outputSchema asks for: {wrong} (model/invalid-output)"
    assert done.err.splitlines()[1:] == [f"{said}; `abey session resume {session_id}` asks again"]
    place.kill_daemon()
    found = place.session(session_id)
    assert (found["state"], found["lastError"]["kind"]) == ("userTurn", "model/invalid-output")
    kinds = [item["kind"] for item in place.rpc("agents/transcript", sessionId=session_id)["items"]]
    assert kinds == ["input", "answer", "note"]
    assert place.abey("session", "resume", session_id) == '{"city": "Paris"}\n'


def test_a_broken_output_schema_is_shown_where_it_is(place: Place) -> None:
    agent = place.agent(outputSchema={"type": "object", "properties": {"city": {"type": "word"}}})
    checked = place.run("agents", "check", str(agent))
    assert (checked.code, "the schema is broken at /properties/city/type: " in checked.out + checked.err) == (1, True)


def test_a_sender_whose_input_is_withdrawn_waits_no_longer_and_what_comes_after_it_is_not_run(place: Place) -> None:
    config = place.config(script=[{"text": "late", "delayMs": 60_000}, says("never")])
    place.rpc("agents/start", config=config, sessionId="s1", prompt="x", cwd=str(place.work))
    with place.peer("driver") as driver, place.peer("sender") as sender:
        driver.start("agents/step", sessionId="s1")
        until(lambda: place.session("s1")["activity"] == "model", "for the step")
        mine = sender.start("agents/send", sessionId="s1", prompt="mine", inputId="mine", run="turn")
        until(lambda: place.session("s1")["queued"], "for the input")
        assert send(place, "s1", "other") == 2
        assert place.abey("session", "withdraw", "s1", "mine").endswith("  queued: 1\n")
        assert sender.answer(mine)["session"]["activity"] == "model"
        after = driver.request("agents/cancel", sessionId="s1")["session"]
    assert (after["state"], after["activity"], after["queued"]) == ("userTurn", "idle", [])


def test_a_prompt_that_waits_since_the_session_is_busy_is_said_to_be_taken(place: Place) -> None:
    config = place.config(script=[{"text": "late", "delayMs": 60_000}])
    place.rpc("agents/start", config=config, sessionId="s1", prompt="x", cwd=str(place.work), run="turn", wait=False)
    until(lambda: place.session("s1")["activity"] == "model", "for the run")
    done = place.run("run", "--session", "s1", "-p", "more")
    [queued] = place.session("s1")["queued"]
    assert (done.code, done.out) == (5, "")
    assert f"\ninput-id: {queued['inputId']}, 1 in the queue\n" in f"\n{done.err}"
