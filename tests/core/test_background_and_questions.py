"""Answers to what runs in the background, and to what it asks (machine.md, Completing)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stories import Came, batch, came, complete, completion, dispatched, find, refused
from support.world import World

from abey.core import events as e
from abey.core.conversation import ToolOutcome
from abey.core.hashes import shown_hash
from abey.core.history import result_of
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question


def asking() -> World:
    world = dispatched("bg")
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


ENDED = ["call-resolved", "tool-results"]


def test_a_background_call_completed_from_outside_is_aborted_and_its_late_result_quarantined() -> None:
    world = dispatched("bg")
    invocation_id = world.effects[0].invocation_id
    assert came(complete(world, "c1", o.Result(content="from outside"))) == Came(ENDED, ["abort"], "userTurn")
    before = world.machine
    assert came(world.send(e.ToolEnded(invocation_id, ToolOutcome("late")))) == Came([], ["quarantine"], "userTurn")
    assert came(world.send(e.Aborted(invocation_id))) == Came([], [], "userTurn")
    assert world.machine == before
    assert result_of(find(world, "c1")).content == "from outside"


def test_a_background_call_that_is_cancelled_may_have_run() -> None:
    world = dispatched("bg")
    complete(world, "c1", o.CancelCall())
    assert result_of(find(world, "c1")).content == "cancelled by user; it had started and may have run"


def test_a_question_for_approval_wants_true_or_false() -> None:
    world = asking()
    assert refused(world, completion(world, "c1", o.Answer(value="yes"))) == {
        "kind": "arguments/invalid",
        "retryable": False,
        "errors": ["value is not a boolean"],
    }


@given(st.none() | st.booleans() | st.text() | st.lists(st.integers()) | st.dictionaries(st.text(), st.integers()))
def test_an_answer_that_does_not_fit_the_question_changes_nothing(value: Any) -> None:
    world = dispatched("bg")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    question = Question.model_validate({"kind": "response", "prompt": "who?", "schema": schema})
    world.send(e.ToolAsked(world.effects[0].invocation_id, question))
    before = world.machine
    if not isinstance(value, dict) or "name" not in value:
        assert refused(world, completion(world, "c1", o.Answer(value=value))) == {
            "kind": "arguments/invalid",
            "retryable": False,
            "errors": ["the answer: name is missing"],
        }
        assert world.machine is before
    assert came(complete(world, "c1", o.Answer(value={"name": "ada"}))).did == ["answer {'name': 'ada'}"]


def test_a_question_for_a_response_takes_any_value_and_may_be_asked_again() -> None:
    world = dispatched("bg")
    for prompt in ("who?", "when?"):
        world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="response", prompt=prompt)))
        assert find(world, "c1").question == Question(kind="response", prompt=prompt)
        assert came(complete(world, "c1", o.Answer(value={"it": 1}))).did == ["answer {'it': 1}"]
    assert came(world.tool_ends()) == Came(["call-finished", "tool-results"], [], "userTurn")


@pytest.mark.parametrize("name", ["run", "bg"])
def test_a_question_that_somebody_else_has_answered_takes_no_other_answer(name: str) -> None:
    world = asks(dispatched(name))
    complete(world, "c1", o.Answer(value="ada"))
    late = [o.Answer(value="bob"), *([o.CancelCall()] if name == "run" else [])]
    for outcome in late:
        before = world.machine
        done = complete(world, "c1", outcome)
        assert (came(done).did, dict(done.answer), world.machine) == ([], {"applied": False}, before)
    assert refused(world, completion(world, "c1", o.Approve()))["kind"] == "state/invalid"


def asks(world: World, prompt: str = "who?") -> World:
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="response", prompt=prompt)))
    return world


def test_a_call_of_a_step_that_asks_lets_the_step_end_and_its_answer_lets_the_batch_end() -> None:
    world = asks(dispatched("run"))
    assert (world.session.state, world.machine.work.activity) == ("partialUserTurn", "idle")
    assert world.types()[-2:] == ["call-asked", "waiting"]
    assert came(complete(world, "c1", o.Answer(value="ada"))).did == ["answer ada"]
    assert came(world.tool_ends()) == Came(["call-finished", "tool-results"], [], "userTurn")


@pytest.mark.parametrize("next_one", ["really?", "who?"])
def test_an_answer_that_is_bound_to_another_question_changes_nothing(next_one: str) -> None:
    world = asks(dispatched("bg"), "who?")
    shown = shown_hash(world.session, find(world, "c1"))
    assert came(complete(world, "c1", o.Answer(value="ada"))).did == ["answer ada"]
    asks(world, next_one)
    event = completion(world, "c1", o.Answer(value="ada"))
    assert refused(world, replace(event, arguments_hash=shown))["kind"] == "arguments/mismatch"
    assert find(world, "c1").question == Question(kind="response", prompt=next_one)
    fresh = replace(event, arguments_hash=shown_hash(world.session, find(world, "c1")))
    assert came(world.send(fresh)).did == ["answer ada"]


def test_a_run_that_waits_for_nobody_has_nobody_answer() -> None:
    world = batch("run")
    world.drive(e.Run(synchronous=True))
    asked = world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="response", prompt="who?")))
    assert came(asked) == Came([], ["answer None"], "partialUserTurn", "tools")


def test_a_tool_that_asks_when_nobody_waits_for_it_any_more_is_answered_by_nobody_so_that_it_ends() -> None:
    world = dispatched("bg")
    invocation_id = world.effects[0].invocation_id
    complete(world, "c1", o.CancelCall())
    before = world.machine
    late = world.send(e.ToolAsked(invocation_id, Question(kind="response", prompt="who?")))
    assert came(late) == Came([], ["answer None"], "userTurn")
    assert came(world.send(e.ToolEnded(invocation_id, ToolOutcome("late")))) == Came([], ["quarantine"], "userTurn")
    assert world.machine == before
