"""Calls of other agents: what is recorded of them and their children, and what a restart makes of both."""

from dataclasses import replace
from typing import Any

from support.stories import Came, came, complete, dispatched, proposed, repaired, states
from support.world import CLIENT, KID, TOOLS, World, agent, answer

from abey.core import events as e
from abey.core.child_views import why_open
from abey.core.children import outcome_of
from abey.core.conversation import ToolOutcome
from abey.core.effects import EndChild, RunTool
from abey.core.machine import Invocation, Machine, Work
from abey.core.pending_views import bare_pending
from abey.protocol import outcomes as o
from abey.protocol.policy import Policy

FINE = ToolOutcome("it is fine")


def family(*names: str, rules: Any = ()) -> World:
    """The model has asked for these tools, and what may run runs."""
    policy = Policy.model_validate({"default": "runSync", "rules": list(rules)})
    return dispatched(*(names or ("kid",)), world=World(agent((*TOOLS, KID), policy)))


def child_of(world: World, name: str = "kid") -> str:
    found = world.call(name).child_id
    assert isinstance(found, str)
    return found


def kinds(world: World) -> list[str]:
    return [one.kind for one in bare_pending(world.session)]


def test_a_call_of_an_agent_starts_in_the_background_with_the_id_of_its_child_recorded_first() -> None:
    world = World(agent((*TOOLS, KID)))
    proposed(("c1", "kid", "{}"), world=world)
    done = world.drive()
    assert came(done) == Came(
        ["call-decided", "call-started", "waiting"], ["run kid", "end advanced after 1"], "partialUserTurn"
    )
    [effect] = [one for one in done.effects if isinstance(one, RunTool)]
    assert effect.child_id == child_of(world) == world.session.children[0]
    assert kinds(world) == ["running"]


def test_an_approved_call_of_an_agent_runs_as_a_pending_one_that_nobody_waits_for() -> None:
    world = family(rules=[{"tool": "kid", "disposition": "defer"}])
    done = complete(world, "c1", o.Approve(), resume=True)
    assert came(done).did == ["run kid", "end waiting after 0"]
    assert kinds(world) == ["running"]


def test_what_came_of_a_child_resolves_its_call_and_the_batch() -> None:
    world = family()
    done = world.tool_ends("kid", FINE.content)
    assert came(done) == Came(["call-finished", "tool-results"], [], "userTurn")


def test_after_a_restart_the_call_runs_on_and_nothing_is_in_flight_for_it() -> None:
    world = family("kid", "run")
    world.crash()
    assert states(world) == {"c1": "running", "c2": "uncertain"}
    assert (world.machine.work if world.machine else None) == Work()
    assert kinds(world) == ["running", "uncertain"]


def test_after_a_restart_the_next_step_goes_on_with_the_same_child_and_records_no_second_start() -> None:
    world = family()
    child = child_of(world)
    world.crash()
    done = world.drive()
    assert came(done) == Came(["waiting"], ["run kid", "end advanced after 1"], "partialUserTurn")
    assert [one.child_id for one in done.effects if isinstance(one, RunTool)] == [child]
    assert came(world.drive()) == Came([], ["end waiting after 0"], "partialUserTurn")


def test_a_child_that_ended_meanwhile_is_recorded_before_what_the_next_request_does() -> None:
    world = family()
    world.crash()
    world.children[child_of(world)] = FINE
    done = world.drive()
    assert came(done) == Came(["call-finished", "tool-results", "model-requested"], ["ask model"], "userTurn", "model")


def test_a_child_that_ends_while_nothing_here_works_on_it_resolves_its_call_at_once() -> None:
    world = family()
    world.crash()
    world.children[child_of(world)] = FINE
    assert came(world.send(e.ChildEnded())) == Came(["call-finished", "tool-results"], [], "userTurn")
    assert came(world.send(e.ChildEnded())).wrote == []


def test_while_something_here_works_on_a_child_only_that_tells_what_came_of_it() -> None:
    world = family()
    world.children[child_of(world)] = FINE
    assert came(world.send(e.ChildEnded())).wrote == []
    assert came(world.tool_ends("kid")).wrote == ["call-finished", "tool-results"]


def test_a_child_that_came_to_rest_is_worked_on_again_only_when_somebody_asks() -> None:
    world = family()
    world.drive(e.UNTIL_TURN)
    effect = world.take(RunTool, "kid")
    assert came(world.send(e.ChildRested(effect.invocation_id))).did == []
    assert came(world.drive(e.UNTIL_TURN)).did == ["run kid"]


def test_a_paused_parent_lets_its_child_rest() -> None:
    world = family()
    world.crash()
    world.send(e.Pause("hold", CLIENT))
    assert came(world.drive(e.UNTIL_YIELD)).did == ["end paused after 0"]


def test_a_cancel_ends_a_child_that_rests_before_its_call_is_closed() -> None:
    world = family()
    world.crash()
    done = world.send(e.Cancel(None, None, CLIENT))
    [ends] = [one for one in done.effects if isinstance(one, EndChild)]
    assert came(done) == Came([], ["end child", "grace 10 s"], "partialUserTurn", "stopping")
    assert ends.child_id == child_of(world)
    done = world.send(e.Aborted(ends.invocation_id))
    assert came(done) == Came(["call-finished", "tool-results", "cancelled"], [], "completed")


def test_a_child_that_does_not_end_in_its_time_keeps_no_cancel_from_ending() -> None:
    world = family()
    world.send(e.Cancel(None, None, CLIENT))
    assert world.machine is not None
    done = world.send(e.GraceOver(world.machine.work.generation))
    assert came(done).wrote == ["call-finished", "tool-results", "cancelled"]


def test_a_result_from_outside_ends_the_child_whether_or_not_something_works_on_it() -> None:
    world = family()
    assert came(complete(world, "c1", o.Result(content="mine"))).did == ["abort"]
    world = family()
    world.crash()
    done = complete(world, "c1", o.Result(content="mine"))
    assert came(done) == Came(["call-resolved", "tool-results"], ["end child"], "userTurn")


def test_a_torn_write_puts_no_call_in_doubt_that_a_child_works_on() -> None:
    world = repaired(family("kid", "ask"))
    assert states(world) == {"c1": "running", "c2": "uncertain"}


def test_a_child_whose_tool_is_gone_from_the_file_goes_on_as_it_was_judged() -> None:
    world = family()
    world.crash()
    world.agent = agent()
    assert came(world.drive()).did == ["run kid", "end advanced after 1"]


def a_child(*, prompt: str | None = "look") -> World:
    """The session that works on call c1 of session p1."""
    world = World()
    world.start(prompt)
    created = world.session.created.model_copy(update={"parent": "s1", "parent_call": "c1"})
    return _as(world, created)


def _as(world: World, created: Any) -> World:
    assert world.machine is not None
    world.records[0] = replace(world.records[0], data=created)
    world.machine = replace(world.machine, session=replace(world.session, created=created))
    return world


def told(child: World) -> ToolOutcome | None:
    parent = family()
    return outcome_of(child.session, parent.session, parent.call("kid"))


def test_the_result_is_the_text_of_the_turn_that_the_parent_asked_for() -> None:
    child = a_child()
    assert told(child) is None
    child.drive(e.UNTIL_YIELD)
    child.model_says(answer(text="first"))
    child.send(e.Send(e.NewInput((*child.session.turns[0].entries[0].parts,)), e.UNTIL_YIELD, CLIENT))
    child.model_says(answer(text="second"))
    assert told(child) == ToolOutcome("first")


def test_a_turn_that_ended_without_an_answer_is_a_failed_result_that_says_how() -> None:
    child = a_child()
    child.send(e.Cancel(None, None, CLIENT))
    said = "tool/failed: the agent a gave no answer; its turn ended cancelled"
    assert told(child) == ToolOutcome(said, "tool/failed")


def test_a_child_that_was_stopped_before_it_began_is_a_failed_result() -> None:
    child = a_child(prompt=None)
    child.send(e.Stop(None, CLIENT))
    assert told(child) == ToolOutcome("tool/failed: the session of the agent a was stopped", "tool/failed")


def test_a_session_of_somebody_else_under_the_id_of_a_child_is_no_child() -> None:
    child = World()
    child.start()
    said = "tool/failed: the session id s1 was taken by somebody else"
    assert told(child) == ToolOutcome(said, "tool/failed")


def test_why_a_call_is_open_says_what_the_child_waits_for_however_deep() -> None:
    inner, outer = dispatched("ask"), family()
    there: dict[str, Machine | None] = {child_of(outer): inner.machine, "outer": outer.machine}
    deep = f"session outer: session {child_of(outer)} waits for an approval of ask"
    assert why_open("outer", Work(), there.get) == deep
    assert why_open("nobody", Work(), there.get) == "session nobody begins when this session goes on"
    on_its_way = Work(live=(Invocation("i", "c", background=True, child_id="nobody"),))
    assert why_open("nobody", on_its_way, there.get) == "session nobody is about to begin"
