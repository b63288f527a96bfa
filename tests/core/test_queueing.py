"""What waits is withdrawn, goes on without input, or is told how it ended (machine.md, Inputs while busy)."""

from typing import Any

import pytest
from core.test_machine_properties import ACTIONS, RUNS, VERSIONS, play
from core.test_projection import events
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.stories import Came, asked, came, complete, dispatched, refused
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.effects import AskModel
from abey.core.session import InputEntry
from abey.core.transition import Transition
from abey.protocol import journal as j
from abey.protocol import outcomes as o

GO_ON = e.Continue(None, CLIENT, "go")


def send(world: World, input_id: str, delivery: str = "queue") -> Transition:
    return world.send(e.Send(e.NewInput(text_parts(input_id), input_id, delivery), None, CLIENT))


def inputs(world: World, since: int = 0) -> list[tuple[str, str]]:
    """Every event about an input after a revision: which, and what."""
    told = (event for revision, event in events(world) if revision > since and event["type"].startswith("input/"))
    return [(event["inputId"], event["type"].removeprefix("input/")) for event in told]


def ended(how: str) -> World:
    """A session whose only turn ended so."""
    world = World()
    world.start("hello", e.STEP)
    if how == "answered":
        world.model_says(answer(text="done"))
    elif how == "failed":
        world.send(e.ModelCallFailed(world.take(AskModel).invocation_id, "content-policy", "no", 1))
    else:
        world.send(e.Cancel(None, "enough", CLIENT))
        world.send(e.Aborted(world.take(AskModel).invocation_id, 1))
    return world


def test_a_queued_input_can_be_withdrawn_and_is_never_sent() -> None:
    world = dispatched("ask")
    send(world, "i1")
    send(world, "i2")
    done = world.send(e.Withdraw("i1", CLIENT))
    assert [record.data for record in done.records] == [j.Withdrawn(input_id="i1", client=CLIENT)]
    complete(world, "c1", o.DenyCall())
    world.drive(e.UNTIL_YIELD)
    world.model_says(answer(text="done"))
    assert inputs(world, since=2) == [("i1", "queued"), ("i2", "queued"), ("i1", "withdrawn"), ("i2", "committed")]


def test_withdrawing_again_and_sending_again_what_was_withdrawn_change_nothing() -> None:
    world = dispatched("ask")
    send(world, "i1")
    world.send(e.Withdraw("i1", CLIENT))
    assert came(world.send(e.Withdraw("i1", CLIENT))) == Came([], [], "partialUserTurn")
    assert came(send(world, "i1")) == Came([], [], "partialUserTurn")
    world.crash()
    assert came(send(world, "i1")) == Came([], [], "partialUserTurn")


def test_an_input_in_the_transcript_cannot_be_withdrawn_and_one_that_was_never_sent_neither() -> None:
    world = World()
    world.start(None)
    send(world, "i1")
    error = world.try_send(e.Withdraw("i1", CLIENT))
    assert error is not None
    assert (error.data, error.message) == (
        {"kind": "state/invalid", "retryable": False, "state": "userTurn", "legal": []},
        "input i1 is in the transcript already; agents/cancel ends the turn that it belongs to",
    )
    error = world.try_send(e.Withdraw("i2", CLIENT))
    assert error is not None
    assert (error.kind, error.message) == ("state/invalid", "no input i2 waits in this session")


def test_a_stop_tells_of_each_input_that_waited() -> None:
    world = dispatched("ask")
    send(world, "i1")
    send(world, "i2", "interrupt")
    world.send(GO_ON)
    since = world.session.revision
    world.send(e.Stop(None, CLIENT))
    assert inputs(world, since) == [("i1", "stopped"), ("i2", "stopped"), ("go", "stopped")]
    assert world.session.dropped == {"i1": "stopped", "i2": "stopped", "go": "stopped"}
    assert refused(world, e.Withdraw("i1", CLIENT))["kind"] == "session/stopped"


def test_an_input_that_comes_while_a_stop_waits_for_work_is_queued_and_stopped() -> None:
    world = dispatched("run")
    world.send(e.Stop(None, CLIENT))
    assert came(send(world, "i1", "turn")) == Came(["input-queued"], [], "partialUserTurn", "stopping")
    since = world.session.revision
    world.send(e.GraceOver(world.machine.work.generation))
    assert (world.session.state, inputs(world, since)) == ("stopped", [("i1", "stopped")])


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_a_turn_without_input_goes_on_where_the_last_one_had_no_answer(how: str) -> None:
    world = ended(how)
    since = world.session.revision
    done = world.send(e.Continue(e.THIS_TURN, CLIENT, "go"))
    assert came(done) == Came(["continued", "model-requested"], ["ask model"], "userTurn", "model")
    turn = world.session.turn
    assert done.records[0].data == j.Continued(turn_id=turn.turn_id, input_id="go", client=CLIENT)
    world.model_says(answer(text="done"))
    assert inputs(world, since) == [("go", "committed")]
    assert [(one.n, one.end) for one in world.session.turns] == [(1, how), (2, "answered")]


def test_a_turn_that_reached_its_limit_goes_on_too() -> None:
    world = World(agent(max_steps=1))
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(answer(*asked("run")))
    assert world.session.turn.end == "limit"
    assert came(world.send(GO_ON)) == Came(["continued"], [], "userTurn")


def test_the_model_is_asked_again_with_what_was_said() -> None:
    world = ended("cancelled")
    world.send(e.Continue(e.STEP, CLIENT))
    asked_again = world.take(AskModel).request
    assert [message.parts for message in asked_again.messages] == [text_parts("hello")]


@pytest.mark.parametrize(
    ("prompt", "why"), [("hello", "the last turn ended with an answer"), (None, "nothing was said")]
)
def test_nothing_goes_on_after_an_answer_or_before_the_first_word(prompt: str | None, why: str) -> None:
    world = World()
    world.start(prompt, e.STEP if prompt else None)
    if prompt:
        world.model_says(answer(text="done"))
    error = world.try_send(GO_ON)
    assert error is not None
    legal = ["userTurn", "llmTurn", "partialUserTurn"]
    assert error.data == {"kind": "state/invalid", "retryable": False, "state": "completed", "legal": legal}
    assert error.message.startswith(why)
    assert error.message.endswith("; say something with agents/send")


def test_an_open_turn_just_goes_on() -> None:
    world = World()
    world.start("hello")
    assert came(world.send(GO_ON)) == Came([], [], "userTurn")
    done = world.send(e.Continue(e.STEP, CLIENT))
    assert came(done) == Came(["model-requested"], ["ask model"], "userTurn", "model")
    world.model_says(answer(*asked("run")))
    assert came(world.send(e.Continue(e.STEP, CLIENT))).did == ["run run"]


def test_while_the_foreground_works_the_session_is_busy() -> None:
    world = World()
    world.start("hello", e.STEP)
    assert refused(world, GO_ON) == {"kind": "session/busy", "retryable": True, "activity": "model"}


def test_while_calls_wait_it_is_queued_and_rejected_where_the_turn_ends_with_an_answer() -> None:
    world = dispatched("ask")
    done = world.send(GO_ON)
    assert [record.data for record in done.records] == [
        j.InputQueued(input_id="go", delivery="queue", parts=(), client=CLIENT, continues=True)
    ]
    assert came(world.send(GO_ON)) == Came([], [], "partialUserTurn")
    send(world, "i1")
    complete(world, "c1", o.DenyCall())
    world.drive(e.UNTIL_YIELD)
    world.model_says(answer(text="done"))
    assert inputs(world, since=2) == [
        ("go", "queued"),
        ("i1", "queued"),
        ("go", "rejected"),
        ("i1", "committed"),
    ]
    error = world.try_send(e.Withdraw("go", CLIENT))
    assert error is not None
    assert error.message == "input go was rejected already"


def test_it_is_committed_where_the_turn_before_it_has_no_answer() -> None:
    world = dispatched("ask")
    world.send(GO_ON)
    done = world.send(e.Cancel(None, None, CLIENT))
    assert came(done).wrote == ["call-finished", "tool-results", "cancelled", "continued"]
    assert (world.session.state, world.session.queue, world.session.turn.n) == ("userTurn", (), 2)


def test_it_waits_behind_an_input_that_came_first() -> None:
    world = dispatched("ask")
    send(world, "i1")
    world.send(GO_ON)
    complete(world, "c1", o.DenyCall())
    world.drive(e.UNTIL_YIELD)
    world.model_says(answer(text="done"))
    assert [one.input_id for one in world.session.queue] == ["go"]
    world.model_says(answer(text="done"))
    assert (world.session.queue, world.session.dropped) == ((), {"go": "rejected"})


def test_it_can_be_withdrawn_and_its_id_is_known_once_it_has_begun_a_turn() -> None:
    world = dispatched("ask")
    world.send(GO_ON)
    world.send(e.Withdraw("go", CLIENT))
    world.send(e.Cancel(None, None, CLIENT))
    assert [turn.n for turn in world.session.turns] == [1]
    world.send(e.Continue(None, CLIENT, "again"))
    assert came(world.send(e.Continue(None, CLIENT, "again"))) == Came([], [], "userTurn")
    error = world.try_send(e.Withdraw("again", CLIENT))
    assert error is not None
    assert error.message.startswith("input again is in the transcript already")


def test_while_paused_it_is_recorded_and_runs_when_somebody_resumes() -> None:
    world = ended("cancelled")
    world.send(e.Pause(None, CLIENT))
    done = world.send(e.Continue(e.THIS_TURN, CLIENT))
    assert came(done) == Came(["continued"], ["end paused after 0"], "userTurn")


def test_a_daemon_about_to_end_records_it_and_runs_nothing() -> None:
    world = ended("cancelled")
    world.draining = True
    done = world.send(e.Continue(e.THIS_TURN, CLIENT))
    assert came(done) == Came(["continued"], ["end paused after 0"], "userTurn")


def test_its_run_follows_one_that_waits_for_answers() -> None:
    world = dispatched("ask")
    world.drive(e.UNTIL_TURN)
    world.send(e.Continue(e.UNTIL_YIELD, CLIENT))
    assert came(world.send(e.Cancel(None, None, CLIENT))).wrote == [
        "call-finished",
        "tool-results",
        "cancelled",
        "continued",
        "model-requested",
    ]


def test_at_most_256_inputs_wait_those_without_words_included() -> None:
    world = dispatched("ask")
    for index in range(256):
        send(world, f"i{index}")
    assert refused(world, GO_ON) == {"kind": "overloaded", "retryable": True, "retryAfterMs": 1000}


def test_a_stopped_session_neither_goes_on_nor_gives_back() -> None:
    world = ended("cancelled")
    world.send(e.Stop(None, CLIENT))
    assert refused(world, GO_ON)["kind"] == "session/stopped"


def test_an_interrupt_is_not_put_into_a_turn_that_ends_at_its_limit() -> None:
    world = World(agent(max_steps=1))
    world.start("hello", e.UNTIL_YIELD)
    send(world, "i1", "interrupt")
    world.model_says(answer(*asked("run")))
    assert [[one.input_id for one in turn.entries if isinstance(one, InputEntry)] for turn in world.session.turns][
        1:
    ] == [["i1"]]


def test_what_waits_is_there_after_a_restart() -> None:
    world = dispatched("ask")
    for input_id, delivery in (("i1", "queue"), ("i2", "interrupt"), ("i3", "turn")):
        send(world, input_id, delivery)
    world.send(GO_ON)
    world.crash()
    assert [(one.input_id, one.delivery) for one in world.session.queue] == [
        ("i1", "queue"),
        ("i2", "interrupt"),
        ("i3", "turn"),
        ("go", "queue"),
    ]
    complete(world, "c1", o.DenyCall())
    assert inputs(world, since=2)[-1] == ("i2", "committed")


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=10, max_size=50), st.sampled_from([None, *RUNS]))
def test_every_input_has_exactly_one_end_in_the_events_or_waits(actions: list[Any], first: e.Run | None) -> None:
    world = World(VERSIONS["as it was"])
    world.start("hello", first)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
    told = inputs(world)
    ends = [input_id for input_id, what in told if what != "queued"]
    waiting = [one.input_id for one in world.session.queue]
    assert sorted(ends + waiting) == sorted({input_id for input_id, _ in told})
