"""The life of a call: its states, what leads from one to the next, and what is at fault with some (machine.md, Calls)."""

from typing import Any

import pytest
from support.stories import Came, batch, came, complete, dispatched, find, proposed, states
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.conversation import ToolOutcome
from abey.core.effects import RunTool
from abey.core.hashes import effective_hash
from abey.core.history import result_of
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question


def approved_while_paused() -> World:
    world = dispatched("ask")
    world.send(e.Pause(None, CLIENT))
    complete(world, "c1", o.Approve())
    return world


def crashed(name: str) -> World:
    world = dispatched(name)
    world.crash()
    return world


def ended(world: World, error: str | None = None) -> World:
    world.tool_ends(error=error)
    return world


def completed(world: World, outcome: o.AnyOutcome) -> World:
    complete(world, "c1", outcome)
    return world


def cancelled(world: World) -> World:
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.GraceOver(world.machine.work.generation if world.machine else 0))
    return world


def expired(world: World) -> World:
    world.millis += 60_000
    world.send(e.TimePassed())
    return world


TRANSITIONS: dict[str, tuple[Any, str]] = {
    "proposed is ready": (lambda: batch("run"), "ready"),
    "ready to running": (lambda: dispatched("run"), "running"),
    "ready to deferred": (lambda: dispatched("ask"), "deferred"),
    "ready to denied": (lambda: dispatched("no"), "denied"),
    "ready to failed": (lambda: dispatched("gone"), "failed"),
    "ready to cancelled": (lambda: cancelled(batch("run")), "cancelled"),
    "running to completed": (lambda: ended(dispatched("run")), "completed"),
    "running to failed": (lambda: ended(dispatched("run"), "tool/failed"), "failed"),
    "running to cancelled": (lambda: cancelled(dispatched("run")), "cancelled"),
    "running to uncertain": (lambda: crashed("run"), "uncertain"),
    "running to ready": (lambda: crashed("safe"), "ready"),
    "deferred to approved": (approved_while_paused, "approved"),
    "deferred to running": (lambda: completed(dispatched("ask"), o.Approve()), "running"),
    "deferred to completed": (lambda: completed(dispatched("ask"), o.Result(content=1)), "completed"),
    "deferred to failed": (lambda: completed(dispatched("ask"), o.Error(message="bad")), "failed"),
    "deferred to denied": (lambda: completed(dispatched("ask"), o.DenyCall()), "denied"),
    "deferred to cancelled": (lambda: completed(dispatched("ask"), o.CancelCall()), "cancelled"),
    "deferred to expired": (lambda: expired(dispatched("soon")), "expired"),
    "uncertain to completed": (lambda: completed(crashed("run"), o.Result(content=1)), "completed"),
    "uncertain to failed": (lambda: completed(crashed("run"), o.Error(message="bad")), "failed"),
    "uncertain to cancelled": (lambda: completed(crashed("run"), o.CancelCall()), "cancelled"),
    "uncertain to running": (lambda: completed(crashed("run"), o.Rerun()), "running"),
}


@pytest.mark.parametrize("name", TRANSITIONS)
def test_a_call_goes_from_state_to_state(name: str) -> None:
    story, state = TRANSITIONS[name]
    assert states(story()) == {"c1": state}


def test_a_started_call_keeps_who_started_it_and_the_hash_of_what_runs() -> None:
    world = dispatched("run")
    call = find(world, "c1")
    started = next(record.data for record in world.records if isinstance(record.data, j.CallStarted))
    assert started == j.CallStarted(
        call_id="c1",
        invocation_id=world.effects[0].invocation_id,
        arguments_hash=effective_hash(world.session, call),
    )


def test_a_tool_is_run_with_the_value_that_the_text_parses_to() -> None:
    world = proposed(("c1", "run", '{"x": "1", "deep": [null, 1.5]}'))
    world.drive()
    run = world.take(RunTool)
    assert (run.call_id, run.tool.name, run.arguments) == ("c1", "run", {"x": "1", "deep": [None, 1.5]})


def test_a_tool_that_fails_yields_a_failed_result_and_the_turn_goes_on() -> None:
    world = dispatched("run")
    invocation_id = world.effects[0].invocation_id
    done = world.tool_ends(content="exit status 1", error="tool/failed")
    assert came(done) == Came(["call-finished", "tool-results"], ["end advanced after 1"], "userTurn")
    assert done.records[0].data.wire() == {
        "callId": "c1",
        "invocationId": invocation_id,
        "outcome": "failed",
        "output": "exit status 1",
        "error": "tool/failed",
    }


FAULTS = {
    "unknown tool": (
        ("c1", "gone", "{}"),
        "tool/unknown",
        "there is no tool named gone; the tools are: alone, ask, bg, box, ext, no, run, safe, soon",
    ),
    "not JSON": (
        ("c1", "run", "{not json"),
        "tool/invalid-arguments",
        "the arguments are not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "NaN": (("c1", "run", '{"x": NaN}'), "tool/invalid-arguments", "the arguments are not JSON: NaN is not JSON"),
    "a number nothing can write down": (
        ("c1", "run", '{"y": 1e999}'),
        "tool/invalid-arguments",
        "the arguments are not JSON: 1e999 is too large a number",
    ),
    "too deep": (
        ("c1", "run", "[" * 100_000),
        "tool/invalid-arguments",
        "the arguments are not JSON: nested too deep",
    ),
    "not an object": (("c1", "run", "[]"), "tool/invalid-arguments", "the arguments are not a JSON object"),
    "against the schema": (("c1", "run", '{"x": 1}'), "tool/invalid-arguments", "at /x: not a string"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_call_that_cannot_run_fails_at_once_and_the_turn_goes_on(name: str) -> None:
    call, kind, message = FAULTS[name]
    world = proposed(call)
    done = world.drive()
    assert came(done) == Came(["call-finished", "tool-results"], ["end advanced after 1"], "userTurn")
    assert done.records[0].data == j.CallFinished(
        call_id="c1", outcome="failed", output=f"{kind}: {message}", error=kind
    )


def test_an_empty_arguments_text_is_an_empty_object() -> None:
    world = proposed(("c1", "run", ""))
    world.drive()
    assert world.take(RunTool).arguments == {}


def test_an_empty_id_gets_one_of_ours_and_a_failed_result() -> None:
    world = proposed(("", "run", "{}"), ("c2", "run", "{}"))
    ours, second = states(world)
    done = world.drive()
    assert came(done).wrote == ["call-finished", "call-decided", "call-started"]
    assert (len(ours), second) == (26, "c2")
    assert done.records[0].data == j.CallFinished(
        call_id=ours,
        outcome="failed",
        output="tool/invalid-call-id: the call's id is empty or repeated; ask again with a new one",
        error="tool/invalid-call-id",
    )


def test_a_repeated_id_fails_the_later_call_under_an_id_of_ours() -> None:
    world = proposed(("c1", "run", "{}"), ("c1", "run", "{}"))
    world.drive()
    first, second = find(world, "c1"), list(states(world).items())[1]
    assert (first.state, second[1], len(second[0])) == ("running", "failed", 26)
    assert find(world, second[0]).finished.error == "tool/duplicate-call-id"


def test_an_id_that_an_earlier_answer_used_is_renamed_and_runs() -> None:
    world = dispatched("run")
    world.tool_ends()
    world.drive()
    world.model_says(answer(("c1", "run", "{}")))
    world.drive()
    ids = list(states(world))
    assert (ids[0], len(ids[1]), list(states(world).values())) == ("c1", 26, ["completed", "running"])


def test_identical_calls_have_different_tokens() -> None:
    world = dispatched("ask", "ask")
    tokens = {find(world, call_id).verdict.token for call_id in ("c1", "c2")}
    assert [len(token) for token in tokens] == [32, 32]


def test_a_late_result_of_a_cancelled_call_is_quarantined() -> None:
    world = dispatched("run")
    invocation_id = world.effects[0].invocation_id
    cancelled(world)
    before = world.machine
    done = world.send(e.ToolEnded(invocation_id, ToolOutcome("late")))
    assert came(done) == Came([], ["quarantine"], "completed")
    assert world.machine == before


def test_a_cancel_tells_what_may_have_run_and_keeps_the_results_that_are_there() -> None:
    world = dispatched("run", "alone", "ask")
    world.tool_ends("run", "kept")
    cancelled(world)
    assert [(call_id, result_of(find(world, call_id)).content) for call_id in states(world)] == [
        ("c1", "kept"),
        ("c2", "cancelled by user; it had started and may have run"),
        ("c3", "cancelled by user; not run"),
    ]
    assert [find(world, call_id).finished.may_have_run for call_id in states(world) if call_id != "c1"] == [True, None]


def test_an_expired_call_is_reported_as_unanswered() -> None:
    world = dispatched("soon")
    world.millis += 59_999
    assert came(world.send(e.TimePassed())) == Came([], [], "partialUserTurn")
    world.millis += 1
    assert came(world.send(e.TimePassed())) == Came(["call-expired", "tool-results"], [], "userTurn")
    assert result_of(find(world, "c1")).content == "nobody answered in time; the call was not run"


def test_a_request_that_finds_an_overdue_call_records_its_expiry_first() -> None:
    world = dispatched("soon")
    world.millis += 60_000
    wrote = ["call-expired", "tool-results", "model-requested"]
    assert came(world.drive()) == Came(wrote, ["ask model"], "userTurn", "model")


def test_an_expiry_moves_a_run_that_waits() -> None:
    world = World()
    world.start("hello", e.UNTIL_TURN)
    world.model_says(answer(("c1", "soon", "{}")))
    world.millis += 60_000
    wrote = ["call-expired", "tool-results", "model-requested"]
    assert came(world.send(e.TimePassed())) == Came(wrote, ["ask model"], "userTurn", "model")


def test_nothing_expires_unless_a_rule_says_so_or_once_it_is_approved() -> None:
    world = dispatched("ask", "soon")
    world.send(e.Pause(None, CLIENT))
    complete(world, "c2", o.Approve())
    world.millis += 10**9
    assert came(world.send(e.TimePassed())) == Came([], [], "partialUserTurn")


def test_a_tool_may_ask_and_is_given_the_answer() -> None:
    world = dispatched("bg")
    question = {"kind": "approval", "prompt": "sure?"}
    asked = e.ToolAsked(world.effects[0].invocation_id, Question.model_validate(question))
    assert came(world.send(asked)) == Came(["call-asked"], [], "partialUserTurn")
    done = complete(world, "c1", o.Answer(value=True))
    assert came(done) == Came(["call-resolved"], ["answer True"], "partialUserTurn")
    assert states(world) == {"c1": "running"}
