"""The life of a call: what leads from one state to the next, and what is at fault with some (machine.md, Calls)."""

from typing import Any

import pytest
from support.stories import Came, batch, came, complete, crashed, dispatched, find, proposed, states
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.conversation import ToolOutcome
from abey.core.effects import RunTool
from abey.core.hashes import effective_hash
from abey.core.history import result_of
from abey.protocol import journal as j
from abey.protocol import outcomes as o


def approved_while_paused() -> World:
    world = dispatched("ask")
    world.send(e.Pause(None, CLIENT))
    complete(world, "c1", o.Approve())
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
        ("c3", "cancelled by user; it was not run"),
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
