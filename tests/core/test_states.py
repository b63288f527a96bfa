"""What the next step does in every state, and what it writes (machine.md, State)."""

import pytest
from support.stories import Came, batch, came, complete, dispatched, refused
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.protocol import outcomes as o


def test_a_session_without_input_is_completed_and_a_step_does_nothing() -> None:
    world = World()
    assert came(world.start(None)) == Came(["created"], [], "completed")
    assert came(world.drive()) == Came([], ["end completed after 0"], "completed")


def test_a_session_with_input_waits_for_its_first_step() -> None:
    assert came(World().start("hello")) == Came(["created", "input"], [], "userTurn")


def test_a_step_on_a_user_turn_asks_the_model_once() -> None:
    world = World()
    world.start("hello")
    assert came(world.drive()) == Came(["model-requested"], ["ask model"], "userTurn", "model")
    done = world.model_says(answer(("c1", "run", "{}")))
    assert came(done) == Came(["candidate"], ["end advanced after 1"], "llmTurn")


def test_an_answer_without_calls_ends_the_turn_in_the_same_write() -> None:
    world = World()
    world.start("hello", e.STEP)
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final"], ["end completed after 1"], "completed")
    assert world.session.turn.end == "answered"


def test_a_failed_model_call_keeps_the_user_turn_and_its_error() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    done = world.send(e.ModelCallFailed(world.effects[0].invocation_id, "auth", "no key", 1))
    assert came(done) == Came(["model-failed"], ["end failed after 1"], "userTurn")
    assert world.session.last_error.wire() == {"kind": "model/auth", "message": "no key", "at": world.context().now}
    assert world.ended[0].error.data == {"kind": "model/auth", "retryable": False}
    assert came(world.drive()) == Came(["model-requested"], ["ask model"], "userTurn", "model")


def test_a_content_filter_ends_the_turn_as_failed() -> None:
    world = World()
    world.start("hello", e.STEP)
    done = world.send(e.ModelCallFailed(world.effects[0].invocation_id, "content-policy", "no", 1))
    assert came(done) == Came(["model-failed", "failed"], ["end failed after 1"], "completed")
    assert (world.session.turn.end, world.session.last_error.kind) == ("failed", "model/content-policy")


def test_a_step_on_an_llm_turn_decides_and_runs_and_commits_the_results_together() -> None:
    world = batch("run", "no")
    done = world.drive()
    decided = ["call-decided", "call-decided", "call-finished", "call-started"]
    assert came(done) == Came(decided, ["run run"], "partialUserTurn", "tools")
    done = world.tool_ends()
    assert came(done) == Came(["call-finished", "tool-results"], ["end advanced after 1"], "userTurn")


def test_a_step_that_leaves_open_calls_records_that_it_waits() -> None:
    done = batch("ask").drive()
    assert came(done) == Came(["call-decided", "waiting"], ["end advanced after 1"], "partialUserTurn")


def test_a_step_that_finds_only_calls_for_others_writes_nothing_and_keeps_the_revision() -> None:
    world = dispatched("ask", "ext")
    revision = world.session.revision
    assert came(world.drive()) == Came([], ["end waiting after 0"], "partialUserTurn")
    assert world.session.revision == revision


def test_a_step_on_a_partial_user_turn_starts_what_was_approved_meanwhile() -> None:
    world = dispatched("ask", "ext")
    world.send(e.Pause(None, CLIENT))
    complete(world, "c1", o.Approve())
    assert came(world.drive()) == Came(["call-started"], ["run ask"], "partialUserTurn", "tools")
    done = world.tool_ends()
    assert came(done) == Came(["call-finished", "waiting"], ["end advanced after 1"], "partialUserTurn")


def test_a_step_on_a_partial_user_turn_starts_what_is_ready_again() -> None:
    world = dispatched("safe")
    world.crash()
    assert came(world.drive()) == Came(["call-started"], ["run safe"], "partialUserTurn", "tools")


def test_a_new_input_starts_a_turn_in_a_completed_session() -> None:
    world = World()
    world.start(None)
    assert came(world.send(e.Send(e.NewInput(text_parts("go")), None, CLIENT))) == Came(["input"], [], "userTurn")


def test_a_prompt_given_to_a_step_is_its_input() -> None:
    world = World()
    world.start(None)
    done = world.drive(input=e.NewInput(text_parts("go")))
    assert came(done) == Came(["input", "model-requested"], ["ask model"], "userTurn", "model")


def test_a_prompt_can_only_be_given_to_a_step_in_a_completed_session() -> None:
    event = e.Drive(e.STEP, CLIENT, e.NewInput(text_parts("go")))
    assert refused(batch("run"), event) == {
        "kind": "state/invalid",
        "retryable": False,
        "state": "llmTurn",
        "legal": ["completed"],
    }


STOPPED_REFUSES = [
    e.Drive(e.STEP, CLIENT),
    e.Drive(e.UNTIL_YIELD, CLIENT, resume=True),
    e.Send(e.NewInput(text_parts("more")), None, CLIENT),
    e.Pause(None, CLIENT),
]


@pytest.mark.parametrize("event", STOPPED_REFUSES, ids=["step", "resume", "send", "pause"])
def test_a_stopped_session_takes_nothing_more(event: e.Event) -> None:
    world = World()
    world.start("hello")
    assert came(world.send(e.Stop("over", CLIENT))) == Came(["stopped"], [], "stopped")
    assert refused(world, event) == {"kind": "session/stopped", "retryable": False}


def test_stopping_twice_and_cancelling_a_stopped_session_change_nothing() -> None:
    world = World()
    world.start("hello")
    world.send(e.Stop(None, CLIENT))
    assert came(world.send(e.Stop(None, CLIENT))) == Came([], [], "stopped")
    assert came(world.send(e.Cancel(None, None, CLIENT))) == Came([], [], "stopped")


def busy_with_the_model() -> World:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    return world


def busy_with_tools() -> World:
    return dispatched("run", "ask")


def busy_with_ending() -> World:
    world = dispatched("run", "ask")
    world.send(e.Cancel(None, None, CLIENT))
    return world


BUSY = {"model": busy_with_the_model, "tools": busy_with_tools, "stopping": busy_with_ending}


@pytest.mark.parametrize("activity", BUSY)
@pytest.mark.parametrize("run", [e.STEP, e.UNTIL_YIELD, e.UNTIL_TURN], ids=["step", "run", "patient"])
def test_a_step_or_run_is_refused_while_the_foreground_works(activity: str, run: e.Run) -> None:
    refusal = {"kind": "session/busy", "retryable": True, "activity": activity}
    assert refused(BUSY[activity](), e.Drive(run, CLIENT)) == refusal


@pytest.mark.parametrize("activity", BUSY)
def test_input_pause_and_cancel_are_never_refused_as_busy(activity: str) -> None:
    world = BUSY[activity]()
    wrote = [
        world.send(event).records[0].data.type
        for event in (e.Send(e.NewInput(text_parts("more")), None, CLIENT), e.Pause(None, CLIENT))
    ]
    assert wrote == ["input-queued", "paused"]
    assert world.try_send(e.Cancel(None, None, CLIENT)) is None


def test_background_calls_do_not_make_a_session_busy() -> None:
    world = dispatched("bg")
    assert came(world.drive()) == Came([], ["end waiting after 0"], "partialUserTurn")
    done = world.tool_ends()
    assert came(done) == Came(["call-finished", "tool-results"], [], "userTurn")


def test_the_closing_record_that_is_missing_is_written_with_the_next_one() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(text="done"))
    world.records = world.records[:-1]
    world.crash()
    assert (world.session.state, world.session.turn.end) == ("completed", None)
    assert came(world.drive()) == Came(["final"], ["end completed after 0"], "completed")


def test_a_turn_out_of_steps_ends_with_its_limit() -> None:
    world = batch("run", world=World(agent=agent(max_steps=2)))
    world.drive()
    world.tool_ends()
    assert came(world.drive()) == Came(["failed"], ["end completed after 0"], "completed")
    assert world.session.turn.end == "limit"
    assert world.session.last_error.wire() == {
        "kind": "budget/exhausted",
        "message": "the turn has taken 2 steps, and limits.maxSteps is 2: another input begins a new turn",
        "at": world.context().now,
    }


def test_a_turn_out_of_steps_runs_no_tool_any_more() -> None:
    world = batch("run", world=World(agent=agent(max_steps=1)))
    written = ["call-finished", "tool-results", "failed"]
    assert came(world.drive()) == Came(written, ["end completed after 0"], "completed")
    assert (world.call("run").state, world.session.turn.end, world.starts) == ("cancelled", "limit", [])


def test_a_model_call_and_a_tool_phase_are_one_step_each() -> None:
    world = batch("run", "ask")
    steps = [world.session.turn.steps]
    world.drive()
    world.tool_ends()
    complete(world, "c2", o.DenyCall())
    steps.append(world.session.turn.steps)
    world.drive()
    assert [*steps, world.session.turn.steps] == [1, 2, 3]


def test_the_next_turn_has_its_own_steps() -> None:
    world = World(agent=agent(max_steps=1))
    world.start("hello", e.STEP)
    world.model_says(answer(text="done"))
    done = world.send(e.Send(e.NewInput(text_parts("more")), e.STEP, CLIENT))
    assert came(done) == Came(["input", "model-requested"], ["ask model"], "userTurn", "model")
