"""An agent that changes while its calls wait (machine.md, Dispositions; security.md, Policy)."""

from support.stories import Came, asked, batch, came, complete, dispatched, find, proposed, states
from support.world import TOOLS, World, agent, tool

from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import Policy


def verdict(world: World, call_id: str = "c1") -> j.CallDecided:
    decided = find(world, call_id).verdict
    assert decided is not None
    return decided


def test_a_call_that_was_judged_keeps_its_verdict_over_a_reload() -> None:
    world = dispatched("ask")
    world.agent = agent(policy=Policy.model_validate({"default": "runSync"}))
    assert came(world.drive()) == Came([], ["end waiting after 0"], "partialUserTurn")
    assert states(world) == {"c1": "deferred"}


def test_the_next_step_judges_by_the_latest_version_of_the_agent() -> None:
    world = batch("ask")
    world.agent = agent(policy=Policy.model_validate({"default": "runSync"}))
    world.drive()
    assert states(world) == {"c1": "running"}
    assert verdict(world).policy_hash == world.agent.policy_hash


def test_a_ready_call_whose_definition_changed_waits_for_somebody() -> None:
    world = proposed(*asked("alone", "alone"))
    world.drive()
    world.crash()
    changed = tuple(tool("alone", destructive=True) if one.name == "alone" else one for one in TOOLS)
    world.agent = agent(changed)
    done = world.drive()
    assert came(done) == Came(["call-decided", "waiting"], ["end advanced after 1"], "partialUserTurn")
    decided = verdict(world, "c2")
    assert (states(world), decided.reason, decided.tool_hash) == (
        {"c1": "uncertain", "c2": "deferred"},
        "the tool's definition changed after the call was judged",
        changed[4].hash,
    )


def test_a_call_whose_tool_was_removed_fails() -> None:
    world = proposed(*asked("alone", "alone"))
    world.drive()
    world.crash()
    world.agent = agent(tuple(one for one in TOOLS if one.name != "alone"))
    world.drive()
    assert find(world, "c2").finished.error == "tool/unknown"


def test_approving_a_call_whose_tool_was_removed_tells_the_model_so() -> None:
    world = dispatched("ask")
    world.agent = agent(tuple(one for one in TOOLS if one.name != "ask"))
    done = complete(world, "c1", o.Approve())
    assert came(done) == Came(["call-resolved", "call-finished", "tool-results"], [], "userTurn")
    assert find(world, "c1").finished.error == "tool/unknown"
