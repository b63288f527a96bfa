"""Tripwires: an extension ends a turn, or a session, at a model call (machine.md, Extensions)."""

from dataclasses import replace

from support.stories import Came, asked, came, complete, dispatched
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.children import outcome_of
from abey.core.conversation import ToolOutcome
from abey.core.effects import AskModel
from abey.core.history import history
from abey.core.machine import Machine
from abey.core.views import items, session_view, summary_view
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.config import Prices
from abey.protocol.rulings import Tripwire
from abey.protocol.session import LastError, Usage

STEP = Tripwire(extension="guard", scope="step")
SESSION = Tripwire(extension="guard", scope="session")
USED = Usage(input_tokens=5, output_tokens=7)


def asking(run: e.Run = e.STEP, world: World | None = None) -> World:
    world = world or World()
    world.start("hello", run)
    return world


def trip(world: World, tripwire: Tripwire = STEP, attempts: int = 2, usage: Usage | None = USED) -> Came:
    event = e.Tripped(world.take(AskModel).invocation_id, tripwire, "a secret was read", attempts, usage)
    return came(world.send(event))


def test_a_tripwire_ends_the_turn_and_says_who_and_why() -> None:
    world = asking()
    assert trip(world) == Came(["failed"], ["end completed after 1"], "completed")
    turn = world.session.turn
    assert world.records[-1].data == j.Failed(
        turn_id=turn.turn_id,
        end="tripped",
        kind="tripwire",
        message="a secret was read",
        tripwire=STEP,
        usage=USED,
        attempts=2,
    )
    error = LastError(kind="tripwire", message="a secret was read", at=world.records[-1].at)
    assert (turn.end, world.session.last_error) == ("tripped", error)
    shown = session_view(Machine(world.session), world.agent)
    assert (shown.state, shown.output, shown.last_error, shown.turn and shown.turn.end) == (
        "completed",
        None,
        error,
        "tripped",
    )
    assert summary_view(Machine(world.session)).attention == "error"


def test_nothing_of_the_answer_is_in_the_transcript_and_the_next_turn_works() -> None:
    world = asking()
    trip(world)
    assert [item.kind for item in items(world.session)] == ["input"]
    world.send(e.Send(e.NewInput(text_parts("again")), e.THIS_TURN, CLIENT))
    assert [type(one).__name__ for one in history(world.session)] == ["UserMessage"]
    world.model_says(answer(text="done"))
    assert (world.session.turn.end, world.session.last_error) == ("answered", None)


def test_what_the_model_call_cost_is_counted() -> None:
    world = asking(world=World(replace(agent(), prices=Prices(input=1_000_000, output=0))))
    trip(world)
    world.crash()
    assert (world.session.usage, world.session.tries) == (USED.model_copy(update={"cost": 5.0}), 2)


def test_a_model_that_was_not_asked_costs_nothing() -> None:
    world = asking()
    trip(world, attempts=0, usage=None)
    assert (world.session.usage, world.session.tries, world.session.turn.end) == (Usage(), 0, "tripped")


def test_a_run_goes_on_with_the_input_that_waits() -> None:
    world = asking(e.UNTIL_YIELD)
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    assert trip(world) == Came(["failed", "input", "model-requested"], ["ask model"], "userTurn", "model")


def test_a_run_of_one_turn_ends_with_it() -> None:
    world = asking(e.THIS_TURN)
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    assert trip(world) == Came(["failed", "input"], ["end completed after 1"], "userTurn")


def test_a_tripwire_of_the_session_stops_it_in_the_same_write() -> None:
    world = asking(e.UNTIL_YIELD)
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    assert trip(world, SESSION) == Came(["failed", "stopped"], ["end completed after 1"], "stopped")
    assert world.records[-1].data == j.Stopped(reason="a secret was read", by="extension guard")
    assert (world.session.turn.end, world.session.queue, len(world.session.turns)) == ("tripped", (), 1)
    error = world.try_send(e.Send(e.NewInput(text_parts("again")), None, CLIENT))
    assert error is not None
    assert error.kind == "session/stopped"


def test_after_a_batch_the_calls_that_were_made_stay_in_the_transcript() -> None:
    world = dispatched("run", "ask")
    world.tool_ends()
    complete(world, "c2", o.Result(content="by hand"))
    world.drive()
    assert trip(world, SESSION).wrote == ["failed", "stopped"]
    assert [item.call.state for item in items(world.session) if item.call is not None] == ["completed", "completed"]


def test_a_tripwire_that_comes_while_the_turn_is_cancelled_counts_its_tries_alone() -> None:
    world = asking()
    world.send(e.Cancel(None, "enough", CLIENT))
    assert trip(world, SESSION).wrote == ["cancelled"]
    assert (world.session.turn.end, world.session.tries, world.session.stopped) == ("cancelled", 2, False)


def test_a_tripwire_that_comes_too_late_is_quarantined() -> None:
    world = asking()
    ask = world.take(AskModel)
    world.send(e.Cancel(None, "enough", CLIENT))
    assert world.machine is not None
    world.send(e.GraceOver(world.machine.work.generation))
    before = world.machine
    done = world.send(e.Tripped(ask.invocation_id, SESSION, "late", 1, USED))
    assert (came(done), world.machine) == (Came([], ["quarantine"], "completed"), before)


def test_a_tripwire_of_a_summary_ends_the_turn_as_well() -> None:
    world = asking()
    world.model_says(answer(*asked("run")))
    world.drive()
    world.tool_ends()
    world.drive()
    assert trip(world).wrote == ["failed"]
    assert world.session.asked is None


def test_a_parent_is_told_how_the_turn_of_its_child_ended() -> None:
    world = asking()
    trip(world)
    parent = dispatched("run").session
    created = world.session.created.model_copy(update={"parent": parent.id, "parent_call": "c1"})
    (call,) = parent.batch.calls
    told = "tool/failed: the agent a gave no answer; its turn ended tripped: a secret was read"
    assert outcome_of(replace(world.session, created=created), parent, call) == ToolOutcome(told, "tool/failed")
