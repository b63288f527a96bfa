"""The record of a session: its transitions, what is active, its transcript (machine.md, Records)."""

from dataclasses import replace
from typing import Any

import pytest
from support.records import read_by_a_model
from support.seeds import NONSENSE, planted, told
from support.stories import batch, complete, crashed, dispatched
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.effects import AskModel
from abey.core.records import record_of
from abey.core.replay import apply
from abey.core.session import Session
from abey.protocol import outcomes as o
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.rulings import Tripwire
from abey.protocol.session import Usage
from abey.protocol.transcript import FilePart, MediaPart, Question, TextPart

Value = dict[str, Any]


def record(world: World) -> Value:
    return record_of(world.session).wire()


def place(world: World) -> Value:
    """The turn and the step that the last answer is in."""
    turn = world.session.turn
    answers = [entry for entry in turn.entries if hasattr(entry, "step_id")]
    return {"turnId": turn.turn_id, "stepId": answers[-1].step_id}


def transitions(world: World) -> list[str | None]:
    """After each record, of everything there is."""
    found: list[str | None] = []
    session: Session | None = None
    for one in world.records:
        session = apply(session, one)
        found.append(session.transition)
    return found


def test_a_session_without_input_has_made_no_transition() -> None:
    world = World()
    world.start(None)
    assert record(world) == {
        "version": 1,
        "revision": 1,
        "session": {"id": "s1", "turnCount": 0, "status": "idle"},
        "transcript": [],
    }


def test_a_turn_with_a_call_to_its_end() -> None:
    world = dispatched("run")
    world.tool_ends("run", {"n": 1})
    world.drive()
    world.model_says(answer(text="done"))
    turn_id = world.session.turn.turn_id
    first, second = (entry.step_id for entry in world.session.turn.entries if hasattr(entry, "step_id"))
    call = {"type": "tool-call", "id": "c1", "name": "run", "args": {}}
    result = {"kind": "completed", "callId": "c1", "toolName": "run", "output": {"type": "json", "content": {"n": 1}}}
    assert record(world) == {
        "version": 1,
        "revision": 11,
        "transition": "final",
        "session": {"id": "s1", "turnCount": 1, "status": "idle"},
        "transcript": [
            {"kind": "input", "turnId": turn_id, "event": {"kind": "user-message", "text": "hello"}},
            {
                "kind": "candidate",
                "turnId": turn_id,
                "stepId": first,
                "candidate": {"output": [call], "finishReason": "tool-calls"},
            },
            {"kind": "tool-results", "turnId": turn_id, "stepId": first, "results": [result]},
            {
                "kind": "candidate",
                "turnId": turn_id,
                "stepId": second,
                "candidate": {"output": [{"type": "text", "text": "done"}], "finishReason": "stop"},
            },
            {"kind": "final", "turnId": turn_id, "stepId": second, "output": "done"},
        ],
    }


def test_the_transitions_of_a_turn_with_a_call_that_waits() -> None:
    world = dispatched("ask")
    complete(world, "c1", o.Result(content="r"))
    world.drive()
    world.model_says(answer(text="done"))
    world.send(e.Stop(None, CLIENT))
    assert transitions(world) == [
        None,
        "input",
        "model-requested",
        "candidate",
        "candidate",
        "waiting",
        "waiting",
        "tool-results",
        "model-requested",
        "candidate",
        "final",
        "stopped",
    ]
    assert record(world)["session"]["status"] == "stopped"


def ends() -> dict[str, World]:
    cancelled, failed, tripped = (batch("ask") for _ in range(3))
    cancelled.send(e.Cancel(None, "enough", CLIENT))
    for world in (failed, tripped):
        world.drive()
        complete(world, "c1", o.Result(content="r"))
        world.drive()
    failed.send(e.ModelCallFailed(_asked(failed), "content-policy", "no", 1))
    tripwire = Tripwire(extension="guard", scope="step")
    tripped.send(e.Tripped(_asked(tripped), tripwire, "no", 1, Usage(input_tokens=1)))
    return {"cancelled": cancelled, "failed": failed, "tripped": tripped}


def _asked(world: World) -> str:
    return str(world.take(AskModel).invocation_id)


@pytest.mark.parametrize(
    ("end", "transition"), [("cancelled", "cancelled"), ("failed", "failed"), ("tripped", "failed")]
)
def test_a_turn_that_ends_without_an_answer_has_no_final(end: str, transition: str) -> None:
    told = record(ends()[end])
    assert (told["transition"], told["session"]["status"]) == (transition, "idle")
    assert [entry["kind"] for entry in told["transcript"]] == ["input", "candidate", "tool-results"]
    assert "active" not in told


def test_a_model_that_is_asked_is_active_and_one_that_has_failed_is_not() -> None:
    world = World()
    world.start("hello", e.STEP)
    asked = world.session.asked
    assert record(world)["active"] == {
        "kind": "model",
        "turnId": asked.turn_id,
        "stepId": asked.step_id,
        "invocationId": asked.invocation_id,
    }
    assert (record(world)["transition"], record(world)["session"]["status"]) == ("model-requested", "running")
    world.send(e.ModelCallFailed(_asked(world), "transient", "no", 3))
    assert (record(world)["transition"], "active" in record(world)) == ("model-requested", False)


def test_calls_that_are_not_judged_yet_are_pending() -> None:
    world = batch("run")
    told = record(world)
    call = {"callId": "c1", "toolName": "run", "args": {}, "owner": {"middlewareId": "a", "slot": "tools"}}
    assert (told["transition"], told["session"]["status"]) == ("candidate", "running")
    assert told["active"] == {"kind": "tools", **place(world), "calls": [{**call, "status": "pending"}]}


def test_calls_that_wait_run_or_have_a_result_and_no_results_before_all_are_there() -> None:
    world = dispatched("no", "ask", "bg", "run")
    world.tool_ends("run", error="tool/failed", content="it broke")
    told = record(world)
    tokens = {call.call_id: call.verdict.token for call in world.session.batch.calls}
    started = {call.call_id: call.started.invocation_id for call in world.session.batch.calls if call.started}
    owner = {"middlewareId": "a", "slot": "tools"}
    assert (told["transition"], told["session"]["status"]) == ("waiting", "waiting")
    assert [entry["kind"] for entry in told["transcript"]] == ["input", "candidate"]
    assert told["active"]["calls"] == [
        {
            "callId": "c1",
            "toolName": "no",
            "args": {},
            "owner": owner,
            "status": "settled",
            "result": {"kind": "denied", "callId": "c1", "toolName": "no", "reason": "denied by policy: never"},
        },
        {
            "callId": "c2",
            "toolName": "ask",
            "args": {},
            "owner": owner,
            "status": "deferred",
            "token": tokens["c2"],
        },
        {
            "callId": "c3",
            "toolName": "bg",
            "args": {},
            "invocationId": started["c3"],
            "owner": owner,
            "status": "deferred",
            "token": tokens["c3"],
        },
        {
            "callId": "c4",
            "toolName": "run",
            "args": {},
            "invocationId": started["c4"],
            "owner": owner,
            "status": "settled",
            "result": {
                "kind": "failed",
                "callId": "c4",
                "toolName": "run",
                "code": "tool.failed",
                "message": "it broke",
            },
        },
    ]


def test_a_question_is_an_interaction() -> None:
    world = dispatched("run")
    (call,) = world.session.batch.calls
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    world.send(e.ToolAsked(call.started.invocation_id, Question(kind="response", prompt="which?", schema=schema)))
    told = record(world)["active"]
    token = call.verdict.token
    assert {name: value for name, value in told.items() if name != "tools"} == {
        "kind": "interaction",
        **place(world),
        "callId": "c1",
        "toolName": "run",
        "interaction": {"id": token, "kind": "response", "prompt": "which?", "metadata": {"schema": schema}},
        "token": token,
    }
    assert [one["status"] for one in told["tools"]["calls"]] == ["deferred"]


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (o.Result(content="r"), {"kind": "completed", "output": {"type": "text", "content": "r"}}),
        (o.Result(content=[1, None]), {"kind": "completed", "output": {"type": "json", "content": [1, None]}}),
        (
            o.Result(content={"type": "text", "content": "r"}),
            {"kind": "completed", "output": {"type": "text", "content": "r"}},
        ),
        (
            o.Result(content={"type": "other"}),
            {"kind": "completed", "output": {"type": "json", "content": {"type": "other"}}},
        ),
        (o.Error(message="bad"), {"kind": "failed", "code": "tool.failed", "message": "bad"}),
        (o.DenyCall(message="no"), {"kind": "denied", "reason": "denied by user: no"}),
        (
            o.CancelCall(),
            {"kind": "failed", "code": "tool.cancelled", "message": "cancelled by user; it was not run"},
        ),
    ],
)
def test_the_results_of_answers(outcome: Any, result: Value) -> None:
    world = dispatched("ask")
    complete(world, "c1", outcome)
    (told,) = record(world)["transcript"][-1]["results"]
    assert told == {"callId": "c1", "toolName": "ask", **result}


def test_a_call_that_nobody_answered_in_time_has_failed() -> None:
    world = dispatched("soon")
    world.millis += 61_000
    world.send(e.TimePassed())
    (told,) = record(world)["transcript"][-1]["results"]
    assert (told["kind"], told["code"]) == ("failed", "tool.expired")


def test_a_failure_that_is_told_in_more_than_words_is_told_whole() -> None:
    world = dispatched("run")
    world.tool_ends("run", content={"type": "mixed", "parts": []}, error="tool/failed")
    (told,) = record(world)["transcript"][-1]["results"]
    assert told["output"] == {"type": "mixed", "parts": []}
    assert told["message"] == '{"type":"mixed","parts":[]}'


def test_what_a_user_said_beside_text() -> None:
    world = World()
    world.start(None)
    text, file = TextPart(text="see"), FilePart(path="/a")
    shown = (MediaPart(mime_type="image/png", base64_data="QQ=="), MediaPart(mime_type="image/png", path="/p"))
    for parts in ((text, *shown), (text, file), (text, text)):
        world.send(e.Send(e.NewInput(parts), None, CLIENT))
    content = {"type": "text", "text": "see"}
    assert [entry["event"] for entry in record(world)["transcript"]] == [
        {
            "kind": "user-message",
            "content": [
                content,
                {"type": "media", "mediaType": "image/png", "reference": {"base64Data": "QQ=="}},
                {"type": "media", "mediaType": "image/png", "reference": {"path": "/p"}},
            ],
        },
        {"kind": "user-message", "parts": [{"kind": "text", "text": "see"}, {"kind": "file", "path": "/a"}]},
        {"kind": "user-message", "content": [content, content]},
    ]


def test_what_the_model_said_byte_for_byte() -> None:
    world = World()
    world.start("hello", e.STEP)
    said = answer(("c1", "run", '{ "x": "1" }'), ("c2", "run", "not json"), ("c3", "", "[]"), ("c4", "run", "{}"))
    thought = ThinkingBlock(text="hm", signature="sig", opaque={"a": 1})
    world.model_says(replace(said, blocks=(thought, TextBlock(text="so")), finish_reason="tool_use"))
    (candidate,) = [entry["candidate"] for entry in record(world)["transcript"] if entry["kind"] == "candidate"]
    assert candidate == {
        "output": [
            {"type": "reasoning", "text": "hm", "signature": "sig", "opaque": {"a": 1}},
            {"type": "text", "text": "so"},
            {"type": "tool-call", "id": "c1", "name": "run", "args": {"x": "1"}, "raw": '{ "x": "1" }'},
            {"type": "tool-call", "id": "c2", "name": "run", "args": {}, "raw": "not json"},
            {"type": "tool-call", "id": "c3", "name": "unknown", "args": []},
            {"type": "tool-call", "id": "c4", "name": "run", "args": {}},
        ],
        "finishReason": "tool_use",
    }


def test_going_back_makes_the_transitions_that_led_there() -> None:
    world = dispatched("run")
    world.tool_ends("run")
    world.drive()
    world.model_says(answer(text="done"))
    found = []
    for revision in (11, 8, 4, 2, 1):
        if revision != world.session.revision:
            world.send(e.Rewind(revision, CLIENT))
        found.append((record(world).get("transition"), _status(world)))
    assert found == [
        ("final", "idle"),
        ("tool-results", "running"),
        ("candidate", "running"),
        ("input", "running"),
        (None, "idle"),
    ]


def _status(world: World) -> str:
    return str(record(world)["session"]["status"])


def test_a_turn_without_input_is_the_last_transition_s_until_the_model_is_asked() -> None:
    world = batch("ask")
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.Continue(None, CLIENT))
    assert (record(world)["transition"], _status(world)) == ("cancelled", "running")
    world.drive()
    assert (record(world)["transition"], _status(world)) == ("model-requested", "running")


def test_what_a_crash_has_left_open_is_not_what_runs_now() -> None:
    told = record(crashed("run"))
    assert (told["transition"], told["session"]["status"]) == ("candidate", "running")
    assert [call["status"] for call in told["active"]["calls"]] == ["deferred"]


@pytest.mark.parametrize("name", NONSENSE)
def test_what_makes_no_sense_is_told_as_it_came(name: str) -> None:
    world = told(*NONSENSE[name])
    again = planted({"transcript": record(world)["transcript"]})
    assert read_by_a_model(again.session) == read_by_a_model(world.session)
