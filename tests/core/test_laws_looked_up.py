"""The laws beside an agent's policy are looked up where a call is judged, and nowhere else."""

from dataclasses import dataclass

from support.stories import batch, complete
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.policy import Laws
from abey.protocol.outcomes import Approve, DenyCall


@dataclass
class Looking(World):
    """Counts how often it is asked for its laws."""

    looks: int = 0

    def laws(self) -> Laws:
        self.looks += 1
        return super().laws()


def looks(world: Looking) -> int:
    """Since the last time."""
    counted, world.looks = world.looks, 0
    return counted


def test_a_transition_that_judges_no_call_looks_up_no_laws() -> None:
    world = Looking()
    batch("ask", "ask", world=world)
    proposed = looks(world)
    world.drive()
    judged = looks(world)
    complete(world, "c1", DenyCall())
    denied = looks(world)
    complete(world, "c2", Approve())
    approved = looks(world)
    world.send(e.Cancel(None, None, CLIENT))
    cancelled = looks(world)
    assert (proposed, judged > 0, denied, approved > 0, cancelled) == (0, True, 0, True, 0)


def test_a_turn_without_calls_looks_up_none() -> None:
    world = Looking()
    world.start("hello", e.STEP)
    world.model_says(answer(text="hi"))
    assert (world.session.state, looks(world)) == ("completed", 0)
