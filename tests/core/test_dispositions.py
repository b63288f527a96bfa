"""What the tool phase does with each disposition (machine.md, Dispositions)."""

from dataclasses import replace

import pytest
from support.stories import Came, batch, came, complete, dispatched, find, states
from support.world import World, agent, answer, tool

from abey.core import events as e
from abey.core.conversation import ToolOutcome
from abey.core.effects import RunTool
from abey.core.pending_views import bare_pending
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import Defer, Label, Policy, Retries


def under(disposition: object, **more: object) -> World:
    rule = {"tool": "*", "disposition": disposition, **more}
    return World(agent=agent(policy=Policy.model_validate({"rules": [rule]})))


def verdict(world: World, call_id: str = "c1") -> j.CallDecided:
    decided = find(world, call_id).verdict
    assert decided is not None
    return decided


def running_tools(world: World) -> list[str]:
    return [one.call_id for one in world.effects if isinstance(one, RunTool)]


def test_the_decision_is_stored_with_the_rule_the_policy_and_the_definition() -> None:
    world = dispatched("soon")
    assert verdict(world) == j.CallDecided(
        call_id="c1",
        token=verdict(world).token,
        disposition=Defer(expire_seconds=60),
        rule={"tool": "soon", "disposition": {"tag": "defer", "expireSeconds": 60}},
        runnable=True,
        policy_hash=world.agent.policy_hash,
        tool_hash=world.agent.tools["soon"].hash,
        config_hash=world.agent.config_hash,
        expires_at=f"T{world.millis + 60_000:015d}Z",
    )


def test_calls_run_at_once_up_to_the_concurrency_and_the_next_when_one_ends() -> None:
    world = World(agent=agent(max_concurrency=2))
    dispatched("run", "run", "run", world=world)
    assert running_tools(world) == ["c1", "c2"]
    assert came(world.tool_ends()) == Came(["call-finished", "call-started"], ["run run"], "partialUserTurn", "tools")
    assert running_tools(world) == ["c2", "c3"]


def test_a_serial_call_runs_alone() -> None:
    world = dispatched("run", "alone", "run")
    trace = [running_tools(world)]
    for _ in range(2):
        world.tool_ends()
        trace.append(running_tools(world))
    assert trace == [["c1"], ["c2"], ["c3"]]


def test_results_are_committed_in_model_order_whatever_order_they_come_in() -> None:
    world = dispatched("run", "safe", "run")
    for call_id in ("c3", "c1", "c2"):
        effect = next(one for one in world.effects if isinstance(one, RunTool) and one.call_id == call_id)
        world.effects.remove(effect)
        done = world.send(e.ToolEnded(effect.invocation_id, ToolOutcome(f"of {call_id}")))
    assert done.records[-1].data == j.ToolResults(
        turn_id=world.session.turn.turn_id,
        step_id=world.session.last_answer.step_id,
        call_ids=("c1", "c2", "c3"),
    )
    assert [call.finished.output for call in world.session.last_answer.calls] == ["of c1", "of c2", "of c3"]


def test_a_background_call_is_started_and_nobody_waits_for_it() -> None:
    done = batch("bg").drive()
    wrote = ["call-decided", "call-started", "waiting"]
    assert came(done) == Came(wrote, ["run bg", "end advanced after 1"], "partialUserTurn")


def test_background_calls_do_not_count_for_concurrency_nor_wait_for_a_serial_one() -> None:
    world = World(agent=agent(max_concurrency=1))
    dispatched("alone", "run", "bg", "bg", world=world)
    assert running_tools(world) == ["c1", "c3", "c4"]


def test_a_background_call_that_ends_last_commits_the_batch_without_a_step() -> None:
    world = dispatched("bg", "run")
    assert came(world.tool_ends("run")).wrote == ["call-finished", "waiting"]
    assert came(world.tool_ends("bg")) == Came(["call-finished", "tool-results"], [], "userTurn")


def test_a_deferred_call_is_never_run_by_itself() -> None:
    world = dispatched("ask")
    for run in (e.STEP, e.UNTIL_YIELD):
        assert came(world.drive(run)) == Came([], ["end waiting after 0"], "partialUserTurn")
    assert (states(world), verdict(world).reason) == ({"c1": "deferred"}, "approval required")


def test_an_isolated_call_waits_for_a_runner_that_others_bring() -> None:
    world = dispatched("box")
    decided = verdict(world)
    assert (states(world), decided.runnable, decided.reason) == ({"c1": "deferred"}, False, "isolated runner required")


def test_a_call_that_nothing_can_ever_isolate_says_so() -> None:
    box = tool("box")
    box = replace(box, definition={**box.definition, "kind": "http"})
    decided = verdict(dispatched("box", world=World(agent((box,)))))
    told = "isolated runner required, which a tool of kind http cannot have"
    assert (decided.runnable, decided.reason) == (False, told)


def test_a_denied_call_is_refused_at_once_and_the_model_is_told() -> None:
    done = batch("no").drive()
    wrote = ["call-decided", "call-finished", "tool-results"]
    assert came(done) == Came(wrote, ["end advanced after 1"], "userTurn")
    assert done.records[1].data == j.CallFinished(call_id="c1", outcome="denied", output="denied by policy: never")


def test_a_denial_without_a_reason_says_who_denied() -> None:
    world = dispatched("run", world=under("deny"))
    assert find(world, "c1").finished.output == "denied by policy"


@pytest.mark.parametrize("disposition", ["runSync", "runAsync", {"tag": "defer"}])
def test_an_external_tool_is_deferred_whatever_the_policy_says(disposition: object) -> None:
    world = dispatched("ext", world=under(disposition))
    assert (states(world), verdict(world).runnable, verdict(world).reason) == (
        {"c1": "deferred"},
        False,
        "only others can run it",
    )


def test_an_external_tool_may_be_denied() -> None:
    assert states(dispatched("ext", world=under("deny"))) == {"c1": "denied"}


DECORATED = {
    "runSync": "running",
    "runAsync": "running",
    "defer": "deferred",
    "deny": "denied",
    "runIsolated": "deferred",
}


@pytest.mark.parametrize("inner", DECORATED)
def test_decorators_change_nothing_about_who_decides(inner: str) -> None:
    label = {"tag": "label", "label": "slow"}
    twice = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 5}], "inner": inner}
    world = dispatched("run", world=under({"tag": "decorate", "decorators": [label], "inner": twice}))
    assert states(world) == {"c1": DECORATED[inner]}
    assert verdict(world).wire()["disposition"]["decorators"] == [label]


def test_labels_begin_the_title_of_a_call_that_waits_and_all_decorators_are_around_its_run() -> None:
    inner = {"tag": "decorate", "decorators": [{"tag": "label", "label": "two\nlines"}], "inner": "defer"}
    outer = [{"tag": "label", "label": "one"}, {"tag": "retries", "count": 2}]
    world = dispatched("run", world=under({"tag": "decorate", "decorators": outer, "inner": inner}))
    (pending,) = bare_pending(world.session)
    assert pending.title == "one: two lines: run"
    (run,) = [one for one in complete(world, "c1", o.Approve(), resume=True).effects if isinstance(one, RunTool)]
    assert run.decorators == (Label(label="one"), Retries(count=2), Label(label="two\nlines"))


def test_a_decorated_background_call_runs_in_the_background() -> None:
    decorated = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 5}], "inner": "runAsync"}
    done = batch("run", world=under(decorated)).drive()
    assert came(done).did == ["run run", "end advanced after 1"]


@pytest.mark.parametrize("name", ["ask", "ext", "box", "soon"])
def test_a_synchronous_run_denies_what_would_wait_for_a_decision(name: str) -> None:
    world = batch(name)
    done = world.drive(e.Run(synchronous=True))
    wrote = ["call-decided", "call-finished", "tool-results", "model-requested"]
    assert came(done) == Came(wrote, ["ask model"], "userTurn", "model")
    assert done.records[1].data == j.CallFinished(
        call_id="c1", outcome="denied", output="needs a decision, and this run is synchronous"
    )


def test_a_synchronous_run_runs_what_may_run() -> None:
    world = batch("run", "no", "bg")
    world.drive(e.Run(synchronous=True))
    assert states(world) == {"c1": "running", "c2": "denied", "c3": "running"}


def test_a_batch_is_mixed_freely_and_waits_for_its_last_call() -> None:
    world = dispatched("run", "ask", "no", "gone", "bg", "ext")
    assert states(world) == {
        "c1": "running",
        "c2": "deferred",
        "c3": "denied",
        "c4": "failed",
        "c5": "running",
        "c6": "deferred",
    }
    world.tool_ends("run")
    world.tool_ends("bg")
    complete(world, "c6", o.Result(content="found"))
    done = complete(world, "c2", o.DenyCall(message="not now"))
    assert came(done) == Came(["call-resolved", "tool-results"], [], "userTurn")
    assert done.records[-1].data.call_ids == ("c1", "c2", "c3", "c4", "c5", "c6")


def test_the_model_is_offered_the_tools_of_the_agent() -> None:
    world = World(agent=agent((tool("run"),)))
    world.start("hello", e.STEP)
    request = world.effects[0].request
    assert [(one.name, one.description) for one in request.tools] == [("run", "a tool")]
    assert (request.system_prompt, request.tries) == ("sys", 0)


def test_every_try_counts_for_the_next_request() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.send(e.ModelCallFailed(world.effects.pop().invocation_id, "transient", "no", 3))
    world.drive()
    world.model_says(answer(text="done"))
    assert world.session.tries == 4
