"""Calls that are to run in a sandbox: where there is one, where there is none, and where one comes (machine.md)."""

from typing import Any

import pytest
from support.stories import Came, came, complete, completion, dispatched, find, proposed, refused, states
from support.world import CLIENT, TOOLS, World, agent, keyed, tool

from abey.core import events as e
from abey.core.effects import RunTool
from abey.core.hashes import shown_hash
from abey.core.policy import Floor
from abey.protocol import outcomes as o
from abey.protocol.policy import Policy, RunIsolated

ALL = e.Isolate(None, CLIENT)
TRIED = ["call-decided", "call-started"]


def boxed(*names: str, sandbox: bool = False, **more: Any) -> World:
    """A phase with these calls; `sandbox`: there is one already."""
    return dispatched(*names, world=World(no_sandbox=None if sandbox else "no bubblewrap", **more))


def one(world: World, call_id: str = "c1") -> e.Isolate:
    verdict = find(world, call_id).verdict
    assert verdict is not None
    return e.Isolate(verdict.token, CLIENT)


def with_sandbox(world: World) -> World:
    world.no_sandbox = None
    return world


def test_with_a_sandbox_the_call_runs_in_it_by_itself() -> None:
    world = boxed("box", sandbox=True)
    [run] = [effect for effect in world.effects if isinstance(effect, RunTool)]
    assert (states(world), run.isolation) == ({"c1": "running"}, RunIsolated())


def test_what_the_rule_grants_goes_with_the_call() -> None:
    disposition = {"tag": "decorate", "decorators": [], "inner": {"tag": "runIsolated", "network": True}}
    policy = Policy.model_validate({"default": disposition})
    world = boxed("run", sandbox=True, agent=agent(policy=policy))
    assert world.take(RunTool).isolation == RunIsolated(network=True)


def test_what_waits_runs_once_there_is_a_sandbox() -> None:
    world = with_sandbox(boxed("box", "ask", "box"))
    done = world.send(ALL)
    assert came(done) == Came([*TRIED, *TRIED], ["run box", "run box"], "partialUserTurn")
    assert (done.answer, states(world)) == (
        {"ran": ["c1", "c3"]},
        {"c1": "running", "c2": "deferred", "c3": "running"},
    )
    assert [world.take(RunTool).isolation for _ in range(2)] == [RunIsolated(), RunIsolated()]


def test_one_call_is_tried_by_its_token() -> None:
    world = with_sandbox(boxed("box", "box"))
    assert world.send(one(world, "c2")).answer == {"ran": ["c2"]}
    assert came(world.tool_ends()) == Came(["call-finished"], [], "partialUserTurn")


def test_the_last_result_commits_the_batch_and_asks_no_model() -> None:
    world = with_sandbox(boxed("box"))
    world.send(ALL)
    assert came(world.tool_ends()) == Came(["call-finished", "tool-results"], [], "userTurn")


def test_where_nothing_waits_for_a_sandbox_nothing_happens() -> None:
    world = with_sandbox(boxed("ask"))
    done = world.send(ALL)
    assert (came(done), done.answer) == (Came([], [], "partialUserTurn"), {"ran": []})


def test_without_a_sandbox_the_answer_says_why_and_how_many_wait() -> None:
    world = boxed("box", "box")
    assert refused(world, ALL) == {
        "kind": "state/invalid",
        "retryable": False,
        "state": "deferred",
        "found": 2,
        "reason": "no bubblewrap",
    }


@pytest.mark.parametrize(
    ("name", "state", "kind", "legal", "told"),
    [
        (
            "ask",
            "deferred",
            "approval",
            ["approve", "deny", "result", "error", "cancel"],
            "waits for an approval",
        ),
        ("ext", "deferred", "external", ["result", "error", "deny", "cancel"], "waits for a result"),
        ("bg", "running", "running", ["result", "error", "cancel"], "runs"),
        ("no", "denied", None, [], "is denied"),
    ],
)
def test_a_call_that_waits_for_no_sandbox_is_not_tried(
    name: str, state: str, kind: str | None, legal: list[str], told: str
) -> None:
    world = with_sandbox(boxed(name, "box"))
    error = world.try_send(one(world))
    said = f"this call {told}, and does not wait for a sandbox; legal: {', '.join(legal) or 'nothing'}"
    assert error is not None
    assert error.message == said
    assert error.data == {
        "kind": "state/invalid",
        "retryable": False,
        "state": state,
        "legal": legal,
        **({} if kind is None else {"pendingKind": kind}),
    } | ({"pendingKind": None} if kind is None else {})


def test_a_token_that_was_never_issued_is_unknown() -> None:
    assert refused(boxed("box"), e.Isolate("f" * 32, CLIENT))["kind"] == "token/unknown"


@pytest.mark.parametrize("outcome", [o.Approve(), o.Rerun()])
def test_neither_an_approval_nor_a_rerun_runs_it_outside(outcome: Any) -> None:
    for world in (boxed("box"), with_sandbox(boxed("box"))):
        call = find(world, "c1")
        assert call.verdict is not None
        event = e.Complete(call.verdict.token, outcome, shown_hash(world.session, call), CLIENT)
        assert refused(world, event)["legal"] == ["result", "error", "deny", "cancel"]


def test_others_may_still_complete_it() -> None:
    world = boxed("box")
    assert complete(world, "c1", o.Result(content="by hand")).answer == {"applied": True}
    assert states(world) == {"c1": "completed"}


def test_while_paused_it_is_let_run_and_starts_when_the_session_goes_on() -> None:
    world = with_sandbox(boxed("box"))
    world.send(e.Pause("hold", CLIENT))
    done = world.send(ALL)
    assert (came(done), done.answer, states(world)) == (
        Came(["call-decided"], [], "partialUserTurn"),
        {"ran": []},
        {"c1": "ready"},
    )
    assert came(world.drive(e.UNTIL_YIELD, resume=True)).did == ["run box"]


def test_a_draining_daemon_starts_nothing_either() -> None:
    world = with_sandbox(boxed("box"))
    world.draining = True
    assert (world.send(ALL).answer, states(world)) == ({"ran": []}, {"c1": "ready"})


def test_a_sandbox_that_went_before_the_start_leaves_the_call_waiting() -> None:
    world = with_sandbox(boxed("box"))
    world.send(e.Pause("hold", CLIENT))
    world.send(ALL)
    world.no_sandbox = "no bubblewrap"
    assert came(world.drive(e.UNTIL_YIELD, resume=True)).did == ["end waiting after 1"]
    decided = find(world, "c1").verdict
    assert decided is not None
    assert (states(world), decided.runnable, decided.reason) == ({"c1": "deferred"}, False, "isolated runner required")


def test_a_tool_that_changed_is_shown_again_before_it_runs() -> None:
    world = with_sandbox(boxed("box"))
    changed = tuple(tool("box", hash="other") if one.name == "box" else one for one in TOOLS)
    world.agent = agent(changed)
    assert refused_after_a_record(world, ALL) == "state/invalid"
    assert states(world) == {"c1": "deferred"}
    assert world.send(ALL).answer == {"ran": ["c1"]}


def refused_after_a_record(world: World, event: e.Event) -> str:
    wrote = came(world.send(event))
    assert wrote.wrote == ["call-decided"]
    return wrote.did[0].removeprefix("refuse ")


def test_a_policy_that_has_come_to_deny_the_call_lets_nobody_run_it() -> None:
    world = with_sandbox(boxed("box"))
    world.floors = (Floor("user", Policy.model_validate({"rules": [{"tool": "box", "disposition": "deny"}]})),)
    assert refused(world, ALL)["reason"] == "the policy does not let box run any more"


def test_a_tool_that_is_gone_fails_and_the_turn_goes_on() -> None:
    world = with_sandbox(boxed("box"))
    world.agent = agent(tuple(one for one in TOOLS if one.name != "box"))
    assert came(world.send(ALL)) == Came(["call-finished", "tool-results"], [], "userTurn")


def test_a_call_that_needs_an_approval_too_waits_for_that_alone_afterwards() -> None:
    policy = Policy.model_validate({"default": "defer"})
    floor = Floor("user", Policy.model_validate({"rules": [{"tool": "run", "disposition": "runIsolated"}]}))
    world = with_sandbox(boxed("run", agent=agent(policy=policy), floors=(floor,)))
    done = world.send(ALL)
    assert (done.answer, came(done)) == ({"ran": []}, Came(["call-decided"], [], "partialUserTurn"))
    complete(world, "c1", o.Approve())
    assert world.take(RunTool).isolation == RunIsolated()


WIDE = {"tag": "runIsolated", "network": True, "writable": True}


@pytest.mark.parametrize("narrow", ["runIsolated", {**WIDE, "network": False}, {**WIDE, "writable": False}])
def test_edited_arguments_get_no_wider_sandbox_than_the_policy_has_for_them(narrow: Any) -> None:
    rules = [{"tool": "run", "match": {"/x": "wide"}, "disposition": WIDE}]
    policy = Policy.model_validate({"rules": rules, "default": narrow})
    floor = Floor("user", Policy.model_validate({"default": "defer"}))
    world = World(no_sandbox=None, agent=agent(policy=policy), floors=(floor,))
    proposed(("c1", "run", '{"x":"wide"}'), world=world)
    world.drive()
    refused(world, completion(world, "c1", o.Approve(arguments={"x": "other"})))
    assert states(world) == {"c1": "deferred"}
    complete(world, "c1", o.Approve())
    assert world.take(RunTool).isolation == RunIsolated(network=True, writable=True)


def test_after_a_crash_it_may_have_run_and_runs_again_only_in_a_sandbox() -> None:
    world = boxed("box", sandbox=True)
    world.crash()
    assert refused(world, one(world))["pendingKind"] == "uncertain"
    complete(world, "c1", o.Rerun())
    assert world.take(RunTool).isolation == RunIsolated()


def test_a_stopped_session_is_stopped() -> None:
    world = with_sandbox(boxed("box"))
    world.send(e.Stop("over", CLIENT))
    assert refused(world, ALL)["kind"] == "session/stopped"


def test_a_request_with_a_key_is_told_the_same_again() -> None:
    world = with_sandbox(boxed("box"))
    world.send(ALL, keyed("k"))
    assert world.session.requests["k"].outcome == {"ran": ["c1"]}
