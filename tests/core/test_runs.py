"""How far a run goes, how it ends, and what follows it (machine.md, Steps and runs; machine.md, Pause)."""

import pytest
from support.stories import Came, asked, batch, came, complete, dispatched
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.transition import Transition
from abey.protocol import outcomes as o


def started(run: e.Run) -> World:
    world = World()
    world.start("hello", run)
    return world


def send(world: World, text: str = "more", delivery: str = "turn", run: e.Run | None = None) -> Transition:
    return world.send(e.Send(e.NewInput(text_parts(text), delivery=delivery), run, CLIENT))


def test_an_approved_call_costs_five_writes_from_prompt_to_answer() -> None:
    world = World()
    units = [
        world.start("hello", e.THIS_TURN),
        world.model_says(answer(*asked("ask"))),
        complete(world, "c1", o.Approve(), resume=True),
        world.tool_ends(),
        world.model_says(answer(text="done")),
    ]
    assert [came(one) for one in units] == [
        Came(["created", "input", "model-requested"], ["ask model"], "userTurn", "model"),
        Came(["candidate", "call-decided", "waiting"], ["end waiting after 2"], "partialUserTurn"),
        Came(["call-resolved", "call-started"], ["run ask"], "partialUserTurn"),
        Came(["call-finished", "tool-results", "model-requested"], ["ask model"], "userTurn", "model"),
        Came(["candidate", "final"], ["end completed after 1"], "completed"),
    ]
    assert len(world.units) == 5


def test_a_run_goes_on_over_steps_until_the_turn_ends() -> None:
    world = started(e.UNTIL_YIELD)
    done = world.model_says(answer(*asked("run")))
    wrote = ["candidate", "call-decided", "call-started"]
    assert came(done) == Came(wrote, ["run run"], "partialUserTurn", "tools")
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(world.tool_ends()) == Came(wrote, ["ask model"], "userTurn", "model")
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final"], ["end completed after 3"], "completed")


def test_a_queued_pause_splits_the_fourth_write() -> None:
    world = started(e.UNTIL_YIELD)
    world.model_says(answer(*asked("run")))
    assert came(world.send(e.Pause("lunch", CLIENT))) == Came(["paused"], [], "partialUserTurn", "tools")
    done = world.tool_ends()
    assert came(done) == Came(["call-finished", "tool-results"], ["end paused after 2"], "userTurn")


def test_a_pause_lets_the_model_call_finish() -> None:
    world = started(e.UNTIL_YIELD)
    world.send(e.Pause(None, CLIENT))
    done = world.model_says(answer(*asked("run")))
    assert came(done) == Came(["candidate"], ["end paused after 1"], "llmTurn")


def test_a_paused_session_answers_paused_to_a_run_and_obeys_a_step() -> None:
    world = batch("run")
    world.send(e.Pause("lunch", CLIENT))
    assert came(world.drive(e.UNTIL_YIELD)) == Came([], ["end paused after 0"], "llmTurn")
    assert came(world.drive()) == Came(["call-decided", "call-started"], ["run run"], "partialUserTurn", "tools")


def test_a_second_pause_changes_nothing() -> None:
    world = batch("run")
    world.send(e.Pause("lunch", CLIENT))
    assert came(world.send(e.Pause("tea", CLIENT))) == Came([], [], "llmTurn")
    assert world.session.paused.wire() == {"reason": "lunch", "at": world.context().now}


def test_a_resume_clears_the_pause_and_runs() -> None:
    world = World()
    world.start("hello")
    world.send(e.Pause(None, CLIENT))
    done = world.drive(e.UNTIL_YIELD, resume=True)
    assert came(done) == Came(["resumed", "model-requested"], ["ask model"], "userTurn", "model")
    assert world.session.paused is None


def test_a_draining_daemon_answers_paused() -> None:
    world = batch("run")
    world.draining = True
    assert came(world.drive(e.UNTIL_YIELD)) == Came([], ["end paused after 0"], "llmTurn")


def test_the_steps_a_run_may_take_end_only_the_run() -> None:
    world = started(e.Run(max_steps=1))
    done = world.model_says(answer(*asked("run")))
    assert came(done) == Came(["candidate"], ["end limit after 1"], "llmTurn")
    assert world.session.turn.end is None


def test_a_cancel_ends_the_run_as_cancelled() -> None:
    world = started(e.UNTIL_YIELD)
    asked_by = world.effects[0].invocation_id
    assert came(world.send(e.Cancel(None, "enough", CLIENT))) == Came(
        [], ["abort", "grace 10 s"], "userTurn", "stopping"
    )
    done = world.send(e.Aborted(asked_by, 2))
    assert came(done) == Came(["cancelled"], ["end cancelled after 0"], "completed")
    assert done.records[0].data.wire() == {
        "turnId": world.session.turn.turn_id,
        "reason": "enough",
        "by": "test",
        "attempts": 2,
    }


def test_a_cancelled_turn_is_followed_by_the_queue_where_the_run_goes_until_it_yields() -> None:
    world = started(e.UNTIL_YIELD)
    send(world)
    world.send(e.Cancel(None, None, CLIENT))
    done = world.send(e.GraceOver(1))
    assert came(done) == Came(["cancelled", "input", "model-requested"], ["ask model"], "userTurn", "model")


def test_a_cancel_naming_a_turn_that_has_ended_is_a_no_op() -> None:
    world = started(e.STEP)
    turn_id = world.session.turn.turn_id
    world.model_says(answer(text="done"))
    send(world)
    assert came(world.send(e.Cancel(turn_id, None, CLIENT))) == Came([], [], "userTurn")


@pytest.mark.parametrize(
    ("run", "did", "activity"),
    [
        (e.UNTIL_YIELD, ["ask model"], "model"),
        (e.THIS_TURN, ["end completed after 1"], "idle"),
        (e.UNTIL_TURN, ["end completed after 1"], "idle"),
        (e.STEP, ["end completed after 1"], "idle"),
    ],
    ids=["yield", "this turn", "turn", "step"],
)
def test_the_write_that_ends_a_turn_commits_the_head_of_the_queue(run: e.Run, did: list[str], activity: str) -> None:
    world = started(run)
    send(world)
    done = world.model_says(answer(text="done"))
    wrote = ["candidate", "final", "input"] + (["model-requested"] if activity == "model" else [])
    assert came(done) == Came(wrote, did, "userTurn", activity)


def test_a_run_until_it_yields_ends_where_only_others_can_go_on() -> None:
    for names in (["ask"], ["ext"], ["bg"], ["box"]):
        world = started(e.UNTIL_YIELD)
        world.model_says(answer(*asked(*names)))
        assert [end.outcome for end in world.ended] == ["waiting"]


def test_a_patient_run_waits_for_completions_from_anywhere_and_ends_with_the_turn() -> None:
    world = started(e.UNTIL_TURN)
    done = world.model_says(answer(*asked("ask", "bg")))
    wrote = ["candidate", "call-decided", "call-decided", "call-started", "waiting"]
    assert came(done) == Came(wrote, ["run bg"], "partialUserTurn")
    complete(world, "c1", o.Result(content="4"))
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(world.tool_ends()) == Came(wrote, ["ask model"], "userTurn", "model")
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final"], ["end completed after 3"], "completed")


def test_while_a_patient_run_waits_a_step_answers_waiting_and_another_patient_run_joins() -> None:
    world = started(e.UNTIL_TURN)
    world.model_says(answer(*asked("ask")))
    done = world.drive()
    assert (came(done), done.generation) == (Came([], ["end waiting after 0"], "partialUserTurn"), 2)
    done = world.drive(e.UNTIL_TURN)
    assert (came(done), done.generation) == (Came([], [], "partialUserTurn"), 1)


def test_a_run_that_came_with_an_input_starts_when_the_step_is_over() -> None:
    world = started(e.STEP)
    done = send(world, run=e.THIS_TURN)
    assert (came(done), done.generation) == (Came(["input-queued"], [], "userTurn", "model"), 2)
    assert send(world, "again", run=e.UNTIL_YIELD).generation == 3
    done = world.model_says(answer(text="done"))
    wrote = ["candidate", "final", "input", "model-requested"]
    assert came(done) == Came(wrote, ["end completed after 1", "ask model"], "userTurn", "model")
    done = world.model_says(answer(text="more done"))
    assert came(done) == Came(wrote, ["end completed after 1", "ask model"], "userTurn", "model")
    done = world.model_says(answer(text="all done"))
    assert came(done) == Came(["candidate", "final"], ["end completed after 1"], "completed")
    assert [end.generation for end in world.ended] == [1, 2, 3]


def test_a_run_until_it_yields_takes_over_the_input_of_another() -> None:
    world = started(e.UNTIL_YIELD)
    assert send(world, run=e.STEP).generation == 1
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input", "model-requested"], ["ask model"], "userTurn", "model")


def test_a_promised_run_keeps_its_generation_whoever_comes_in_between() -> None:
    world = started(e.UNTIL_TURN)
    world.model_says(answer(*asked("ask")))
    assert send(world, run=e.THIS_TURN).generation == 2
    assert world.drive().generation == 3
    complete(world, "c1", o.DenyCall())
    world.model_says(answer(text="done"))
    world.model_says(answer(text="more done"))
    assert [(end.generation, end.outcome) for end in world.ended] == [
        (3, "waiting"),
        (1, "completed"),
        (2, "completed"),
    ]


def named(world: World, input_id: str, run: e.Run | None = None, delivery: str = "queue") -> Transition:
    return world.send(e.Send(e.NewInput(text_parts(input_id), input_id, delivery), run, CLIENT))


def test_an_input_that_is_sent_again_is_driven_to_its_end_and_no_further() -> None:
    world = World()
    world.start("hello")
    named(world, "mine")
    world.crash()
    done = named(world, "mine", e.THIS_TURN)
    assert came(done) == Came(["model-requested"], ["ask model"], "userTurn", "model")
    assert named(world, "mine", e.THIS_TURN).generation == 2
    named(world, "other")
    world.model_says(answer(text="done"))
    done = world.model_says(answer(text="done"))
    ends = ["end completed after 2", "end completed after 0"]
    assert came(done) == Came(["candidate", "final", "input"], ends, "userTurn")
    done = named(world, "mine", e.THIS_TURN)
    assert (came(done), done.generation) == (Came([], [], "userTurn"), None)


def test_a_promised_run_ends_at_once_with_its_input_that_is_withdrawn_and_drives_no_other() -> None:
    world = started(e.STEP)
    named(world, "mine", e.THIS_TURN)
    named(world, "other")
    assert came(world.send(e.Withdraw("mine", CLIENT))) == Came(
        ["withdrawn"], ["end cancelled after 0"], "userTurn", "model"
    )
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input"], ["end completed after 1"], "userTurn")


def test_a_promised_run_drives_what_comes_first_and_ends_with_the_turn_of_its_own_input() -> None:
    world = started(e.STEP)
    for input_id, run in (("first", None), ("mine", e.THIS_TURN), ("other", None)):
        named(world, input_id, run)
    wrote = ["candidate", "final", "input", "model-requested"]
    for ended in ("end completed after 1", None):
        did = [ended] if ended else []
        assert came(world.model_says(answer(text="done"))) == Came(wrote, [*did, "ask model"], "userTurn", "model")
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input"], ["end completed after 2"], "userTurn")


def test_a_run_that_began_for_an_input_in_the_queue_ends_with_its_turn() -> None:
    world = batch("run")
    named(world, "mine", e.THIS_TURN)
    named(world, "other")
    world.tool_ends()
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input", "model-requested"], ["ask model"], "userTurn", "model")
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input"], ["end completed after 3"], "userTurn")


def test_a_run_that_began_for_an_input_withdrawn_since_ends_with_the_turn_that_is_open() -> None:
    world = batch("run")
    named(world, "mine", e.THIS_TURN)
    named(world, "other")
    world.send(e.Withdraw("mine", CLIENT))
    world.tool_ends()
    done = world.model_says(answer(text="done"))
    assert came(done) == Came(["candidate", "final", "input"], ["end completed after 2"], "userTurn")


def test_the_run_of_an_interrupt_that_joined_the_turn_of_another_run_drives_no_other_turn() -> None:
    world = started(e.UNTIL_TURN)
    world.model_says(answer(*asked("run")))
    named(world, "mine", e.THIS_TURN, "interrupt")
    named(world, "other")
    world.tool_ends()
    done = world.model_says(answer(text="done"))
    ends = ["end completed after 3", "end completed after 0"]
    assert came(done) == Came(["candidate", "final", "input"], ends, "userTurn")


def test_a_cancel_of_the_turn_ahead_of_it_keeps_no_promise_from_an_input() -> None:
    world = started(e.STEP)
    named(world, "mine", e.THIS_TURN)
    world.model_says(answer(*asked("run")))
    world.send(e.Cancel(None, None, CLIENT))
    done = world.tool_ends()
    wrote = ["call-finished", "tool-results", "cancelled", "input", "model-requested"]
    assert came(done) == Came(wrote, ["ask model"], "userTurn", "model")


def test_a_run_of_few_steps_takes_over_no_input() -> None:
    world = started(e.Run(max_steps=1))
    assert named(world, "mine", e.THIS_TURN).generation == 2
    done = world.model_says(answer(*asked("run")))
    wrote = ["candidate", "call-decided", "call-started"]
    assert came(done) == Came(wrote, ["end limit after 1", "run run"], "partialUserTurn", "tools")


def test_a_run_promised_while_a_cancel_is_on_its_way_starts_when_it_is_over() -> None:
    world = dispatched("bg")
    world.send(e.Cancel(None, None, CLIENT))
    assert send(world, run=e.THIS_TURN).generation == 3
    done = world.tool_ends()
    wrote = ["call-finished", "tool-results", "cancelled", "input", "model-requested"]
    assert came(done) == Came(wrote, ["ask model"], "userTurn", "model")


def test_a_promised_run_ends_with_a_session_that_is_stopped() -> None:
    world = started(e.STEP)
    send(world, run=e.THIS_TURN)
    world.send(e.Stop("over", CLIENT))
    done = world.send(e.GraceOver(2))
    assert came(done) == Came(["stopped"], ["end completed after 0", "end cancelled after 0"], "stopped")
    assert world.session.queue == ()


def test_a_stop_that_comes_while_a_cancel_is_on_its_way_stops_the_session() -> None:
    world = dispatched("run")
    world.send(e.Cancel(None, "enough", CLIENT))
    assert came(world.send(e.Stop("over", CLIENT))) == Came([], [], "partialUserTurn", "stopping")
    assert came(world.send(e.Cancel(None, None, CLIENT))) == Came([], [], "partialUserTurn", "stopping")
    done = world.send(e.GraceOver(2))
    wrote = ["call-finished", "tool-results", "stopped"]
    assert came(done) == Came(wrote, ["end completed after 0"], "stopped")
    assert done.records[-1].data.reason == "over"


def test_a_cancel_of_an_ended_turn_says_so_while_another_turn_is_being_cancelled() -> None:
    world = started(e.UNTIL_YIELD)
    first = world.session.turn.turn_id
    send(world)
    world.model_says(answer(text="done"))
    second = world.session.turn.turn_id
    ways = [e.Cancel(second, None, CLIENT), e.Cancel(first, None, CLIENT), e.Cancel(second, None, CLIENT)]
    assert [world.send(one).answer["applied"] for one in ways] == [True, False, True]


def test_a_session_that_is_stopped_is_not_paused() -> None:
    world = batch("run")
    world.send(e.Pause("lunch", CLIENT))
    world.send(e.Stop(None, CLIENT))
    assert (world.session.state, world.session.paused) == ("stopped", None)


def test_the_grace_of_an_earlier_run_ends_nothing() -> None:
    world = dispatched("run")
    world.send(e.Cancel(None, None, CLIENT))
    assert came(world.send(e.GraceOver(1))) == Came([], [], "partialUserTurn", "stopping")


def test_an_answer_that_resumes_does_not_wait_for_the_patient_run_of_another() -> None:
    world = started(e.UNTIL_TURN)
    world.model_says(answer(*asked("ask", "ext")))
    done = complete(world, "c1", o.DenyCall(), resume=True)
    assert (came(done), done.generation) == (Came(["call-resolved"], [], "partialUserTurn"), None)


def test_an_answer_that_resumes_goes_on_after_a_run_of_few_steps() -> None:
    world = batch("ask", "run")
    world.drive(e.Run(max_steps=1))
    done = complete(world, "c1", o.DenyCall(), resume=True)
    assert (came(done), done.generation) == (Came(["call-resolved"], [], "partialUserTurn", "tools"), 3)
    done = world.tool_ends()
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(done) == Came(wrote, ["end limit after 1", "ask model"], "userTurn", "model")


def test_a_run_with_other_bounds_does_not_join_a_patient_one() -> None:
    world = started(e.UNTIL_TURN)
    world.model_says(answer(*asked("ask")))
    bounded = e.Run(ends_with_turn=True, patient=True, max_steps=1)
    done = world.drive(bounded)
    assert (came(done), done.generation) == (Came([], ["end waiting after 0"], "partialUserTurn"), 2)


def test_a_synchronous_run_waits_for_nobody() -> None:
    world = batch("ask")
    world.drive()
    done = world.drive(e.Run(ends_with_turn=True, patient=True, synchronous=True))
    assert came(done) == Came([], ["end waiting after 0"], "partialUserTurn")


def test_a_synchronous_run_waits_for_what_it_has_started_in_the_background() -> None:
    world = started(e.Run(synchronous=True))
    done = world.model_says(answer(*asked("bg")))
    wrote = ["candidate", "call-decided", "call-started", "waiting"]
    assert came(done) == Came(wrote, ["run bg"], "partialUserTurn", "idle")
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(world.tool_ends()) == Came(wrote, ["ask model"], "userTurn", "model")


def test_no_step_begins_while_the_daemon_drains() -> None:
    world = started(e.STEP)
    send(world, run=e.STEP)
    world.draining = True
    done = world.model_says(answer(text="done"))
    wrote = ["candidate", "final", "input"]
    assert came(done) == Came(wrote, ["end completed after 1", "end paused after 0"], "userTurn")
