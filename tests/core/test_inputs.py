"""Input that comes while a session is busy, and how each one ends (machine.md, Inputs while busy)."""

import pytest
from support.stories import Came, came, complete, dispatched, refused
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.session import InputEntry
from abey.core.transition import Transition
from abey.protocol import journal as j
from abey.protocol import outcomes as o


def send(world: World, input_id: str, delivery: str = "turn", run: e.Run | None = None) -> Transition:
    return world.send(e.Send(e.NewInput(text_parts(input_id), input_id, delivery), run, CLIENT))


def queue(world: World) -> list[str]:
    return [one.input_id for one in world.session.queue]


def turns(world: World) -> list[list[str]]:
    """The inputs of each turn, in the order of the transcript; the first one of the session is `-`."""
    known = [[one.input_id for one in turn.entries if isinstance(one, InputEntry)] for turn in world.session.turns]
    return [[one if one.startswith("i") else "-" for one in ids] for ids in known]


@pytest.mark.parametrize("delivery", ["turn", "queue", "interrupt"])
def test_every_delivery_starts_a_turn_in_a_completed_session(delivery: str) -> None:
    world = World()
    world.start(None)
    done = send(world, "i1", delivery)
    assert came(done) == Came(["input"], [], "userTurn")
    assert done.records[0].data == j.Input(
        turn_id=world.session.turn.turn_id, input_id="i1", parts=text_parts("i1"), client=CLIENT
    )


@pytest.mark.parametrize(
    ("delivery", "wrote"), [("turn", "input"), ("queue", "input-queued"), ("interrupt", "input-queued")]
)
def test_only_an_input_for_the_turn_joins_an_idle_user_turn(delivery: str, wrote: str) -> None:
    world = World()
    world.start("hello")
    assert came(send(world, "i1", delivery)) == Came([wrote], [], "userTurn")
    assert len(world.session.turns) == 1


@pytest.mark.parametrize("delivery", ["turn", "queue", "interrupt"])
def test_an_input_is_queued_while_calls_are_open(delivery: str) -> None:
    world = dispatched("ask")
    done = send(world, "i1", delivery)
    assert done.records[0].data == j.InputQueued.model_validate(
        {"inputId": "i1", "delivery": delivery, "parts": text_parts("i1"), "client": CLIENT}
    )


def test_an_interrupt_overtakes_the_queue_and_joins_the_turn_after_the_next_results() -> None:
    world = dispatched("run")
    send(world, "i1", "queue")
    send(world, "i2", "interrupt")
    send(world, "i3", "interrupt")
    assert came(world.tool_ends()).wrote == ["call-finished", "tool-results", "input", "input"]
    assert (turns(world), queue(world)) == ([["-", "i2", "i3"]], ["i1"])


def test_an_interrupt_that_finds_no_more_results_starts_a_turn_of_its_own_before_the_queue() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    send(world, "i1", "queue")
    send(world, "i2", "interrupt")
    world.model_says(answer(text="done"))
    assert (turns(world), queue(world)) == ([["-"], ["i2"]], ["i1"])


def test_an_interrupt_is_committed_by_whatever_completes_the_batch() -> None:
    world = dispatched("ask")
    send(world, "i1", "interrupt")
    assert came(complete(world, "c1", o.DenyCall())).wrote == ["call-resolved", "tool-results", "input"]


def test_an_interrupt_aborts_nothing() -> None:
    world = dispatched("run", "bg")
    assert came(send(world, "i1", "interrupt")) == Came(["input-queued"], [], "partialUserTurn", "tools")


def test_a_cancel_hands_an_interrupt_to_the_next_turn() -> None:
    world = dispatched("ask")
    send(world, "i1", "interrupt")
    done = world.send(e.Cancel(None, None, CLIENT))
    assert came(done).wrote == ["call-finished", "tool-results", "cancelled", "input"]
    assert turns(world) == [["-"], ["i1"]]


def test_the_queue_is_taken_one_input_a_turn_in_its_order() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    for input_id in ("i1", "i2"):
        send(world, input_id, "queue")
    for _ in range(3):
        world.model_says(answer(text="done"))
    assert (turns(world), [end.outcome for end in world.ended]) == ([["-"], ["i1"], ["i2"]], ["completed"])


def test_an_input_that_is_sent_again_is_the_same_input() -> None:
    world = dispatched("ask")
    send(world, "i1", "queue")
    assert came(send(world, "i1", "queue")) == Came([], [], "partialUserTurn")
    complete(world, "c1", o.DenyCall())
    world.drive()
    world.model_says(answer(text="done"))
    assert came(send(world, "i1")) == Came([], [], "userTurn")
    assert turns(world) == [["-"], ["i1"]]


def test_a_stop_ends_the_queue() -> None:
    world = dispatched("ask")
    send(world, "i1", "queue")
    world.send(e.Stop(None, CLIENT))
    assert queue(world) == []


def test_at_most_256_inputs_wait() -> None:
    world = dispatched("ask")
    for index in range(256):
        send(world, f"i{index}", "queue")
    event = e.Send(e.NewInput(text_parts("more")), None, CLIENT)
    assert refused(world, event) == {"kind": "overloaded", "retryable": True, "retryAfterMs": 1000}


def test_input_is_accepted_while_paused() -> None:
    world = World()
    world.start(None)
    world.send(e.Pause(None, CLIENT))
    done = send(world, "i1", run=e.UNTIL_YIELD)
    assert came(done) == Came(["input"], ["end paused after 0"], "userTurn")


def test_an_input_gets_an_id_of_ours_where_it_has_none() -> None:
    world = World()
    world.start(None)
    done = world.send(e.Send(e.NewInput(text_parts("go")), None, CLIENT))
    assert len(done.records[0].data.input_id) == 26
