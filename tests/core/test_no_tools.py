"""Where no tool may be started now (machine.md): models and records go on, calls wait, and each runs once later."""

from dataclasses import dataclass
from typing import Any

import pytest
from support.stories import states
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.hashes import shown_hash
from abey.core.machine import Context
from abey.errors import RecordFailed
from abey.protocol import outcomes as o

FULL = RecordFailed("the disk is full")


@dataclass
class FullWorld(World):
    """A world in which a test may say that no tool can be started."""

    full: bool = False

    def context(self) -> Context:
        context = super().context()
        return Context(**{**fields(context), "no_tools": FULL if self.full else None})


def fields(context: Context) -> dict[str, Any]:
    return {name: getattr(context, name) for name in Context.__slots__}


def asked(*calls: tuple[str, str, str]) -> FullWorld:
    """The model has asked for these calls; no verdict yet."""
    world = FullWorld()
    world.start()
    world.drive()
    world.model_says(answer(*calls))
    return world


def test_a_tool_phase_is_refused_before_any_verdict_and_comes_later() -> None:
    world = asked(("c1", "run", "{}"))
    revision = world.session.revision
    world.full = True
    world.drive()
    end = world.ended[-1]
    assert (end.outcome, end.error, world.session.revision) == ("failed", FULL, revision)
    assert (world.session.state, world.starts) == ("llmTurn", [])
    world.full = False
    world.drive()
    world.tool_ends("run")
    assert (world.session.state, world.starts) == ("userTurn", [("c1", "{}")])


def test_a_model_step_goes_on() -> None:
    world = FullWorld(full=True)
    world.start()
    world.drive()
    world.model_says(answer(text="hi"))
    assert world.types()[-1] == "final"


def test_what_runs_already_is_recorded_and_the_next_call_of_the_batch_waits_for_room() -> None:
    world = asked(("c1", "alone", "{}"), ("c2", "run", "{}"))
    world.drive(e.UNTIL_YIELD)
    assert world.starts == [("c1", "{}")]
    world.full = True
    world.tool_ends("alone")
    end = world.ended[-1]
    assert (end.outcome, end.error, world.starts) == ("failed", FULL, [("c1", "{}")])
    assert (world.session.state, states(world)) == ("partialUserTurn", {"c1": "completed", "c2": "ready"})
    world.full = False
    world.drive(e.UNTIL_YIELD)
    world.tool_ends("run")
    assert world.starts == [("c1", "{}"), ("c2", "{}")]


@pytest.mark.parametrize("kind", ["approve", "rerun"])
def test_an_answer_that_would_start_a_tool_is_refused_and_the_call_waits_on(kind: str) -> None:
    world = asked(("c1", "ask" if kind == "approve" else "run", "{}"))
    world.drive()
    if kind == "rerun":
        world.crash()
    world.full = True
    call = world.call("ask" if kind == "approve" else "run")
    before = states(world)
    outcome = o.Approve() if kind == "approve" else o.Rerun()
    event = e.Complete(call.verdict.token, outcome, shown_hash(world.session, call), CLIENT)
    assert (world.try_send(event), states(world)) == (FULL, before)
    world.full = False
    world.send(event)
    assert states(world) == {"c1": "running"}


def test_a_denial_and_a_result_are_recorded() -> None:
    for outcome in (o.DenyCall(message="no"), o.Result(content="it is done")):
        world = asked(("c1", "ask", "{}"))
        world.drive()
        world.full = True
        call = world.call("ask")
        world.send(e.Complete(call.verdict.token, outcome, None, CLIENT))
        assert world.call("ask").final
