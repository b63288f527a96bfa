"""Tools that only some model calls are offered: known to the machine, told to no model by it."""

from support.stories import states
from support.world import World, agent, answer, tool

from abey.core import events as e
from abey.core.compaction import summary_request
from abey.core.effects import AskModel
from abey.core.history import Cut

AGENT = agent((tool("run"), tool("extra", offered=False)))


def asked(world: World) -> list[str]:
    effect = world.effects[-1]
    assert isinstance(effect, AskModel)
    return [one.name for one in effect.request.tools]


def test_a_model_is_not_told_of_them() -> None:
    world = World(AGENT)
    world.start("hello", e.STEP)
    assert asked(world) == ["run"]
    assert [one.name for one in summary_request(world.session, AGENT, Cut(1)).tools] == ["run"]


def test_a_call_of_one_is_judged_and_run_as_any_other() -> None:
    world = World(AGENT)
    world.start("hello", e.STEP)
    world.model_says(answer(("c1", "extra", "{}")))
    world.drive()
    assert states(world) == {"c1": "running"}


def test_who_asks_for_a_tool_that_is_not_there_is_not_told_of_them_either() -> None:
    world = World(AGENT)
    world.start("hello", e.STEP)
    world.model_says(answer(("c1", "gone", "{}")))
    world.drive()
    [call] = world.session.last_answer.calls
    assert call.finished.output == "tool/unknown: there is no tool named gone; the tools are: run"
