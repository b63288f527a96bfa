"""Approvals: bound to what was shown, edited or not (machine.md, Completing; security.md, Approval)."""

from dataclasses import replace

import pytest
from support.stories import Came, came, complete, completion, crashed, dispatched, find, proposed, refused, states
from support.world import CLIENT, TOOLS, World, agent, tool

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.effects import RunTool
from abey.core.hashes import effective_hash, proposed_hash, shown_hash
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.base import sha256_hex
from abey.protocol.policy import Policy

RULES = [
    {"tool": "ask", "match": {"/x": "secret"}, "disposition": "deny"},
    {"tool": "ask", "match": {"/x": "boxed"}, "disposition": "runIsolated"},
    {"tool": "ask", "disposition": "defer"},
]
STRICT = Policy.model_validate({"rules": RULES})
LOOSE = Policy.model_validate({"rules": RULES[2:]})


def shown(arguments: str = '{"x":"1"}', policy: Policy = LOOSE) -> World:
    world = proposed(("c1", "ask", arguments), world=World(agent=agent(policy=policy)))
    world.drive()
    return world


def with_tool(name: str, **more: object) -> tuple[Tool, ...]:
    return tuple(tool(name, **more) if one.name == name else one for one in TOOLS)


def test_the_hash_covers_everything_that_an_approval_is_bound_to() -> None:
    world = shown('{"x": "1"}')
    call = find(world, "c1")
    bound = ["abey-1", "s1", call.verdict.token, "ask", '{"x": "1"}', "/w"]
    assert proposed_hash(world.session, call) == sha256_hex(
        [*bound, world.agent.policy_hash, world.agent.tools["ask"].hash]
    )


@pytest.mark.parametrize("sent", [None, "0" * 64], ids=["none", "another"])
def test_an_approval_of_something_else_is_a_mismatch_with_the_right_hash(sent: str | None) -> None:
    world = shown()
    call = find(world, "c1")
    assert refused(world, e.Complete(call.verdict.token, o.Approve(), sent, CLIENT)) == {
        "kind": "arguments/mismatch",
        "retryable": False,
        "argumentsHash": proposed_hash(world.session, call),
    }
    assert states(world) == {"c1": "deferred"}


def test_an_approval_of_the_same_call_in_another_folder_is_a_mismatch() -> None:
    """A session may be moved: what was shown then would run elsewhere now."""
    world = shown()
    event = completion(world, "c1", o.Approve())
    moved = world.records[0].data.model_copy(update={"cwd": "/elsewhere"})
    world.records[0] = replace(world.records[0], data=moved)
    world.crash()
    told = refused(world, event)
    assert (told["kind"], told["argumentsHash"]) == (
        "arguments/mismatch",
        proposed_hash(world.session, find(world, "c1")),
    )
    assert states(world) == {"c1": "deferred"}


def test_a_denial_needs_no_hash() -> None:
    world = shown()
    event = e.Complete(find(world, "c1").verdict.token, o.DenyCall(), None, CLIENT)
    assert came(world.send(event)) == Came(["call-resolved", "tool-results"], [], "userTurn")


def test_an_approved_call_runs_in_the_background_with_exactly_the_text_that_was_shown() -> None:
    world = shown('{"x":   "1"}')
    done = complete(world, "c1", o.Approve())
    assert came(done) == Came(["call-resolved", "call-started"], ["run ask"], "partialUserTurn")
    assert done.records[1].data.arguments_hash == proposed_hash(world.session, find(world, "c1"))
    assert world.take(RunTool).arguments == {"x": "1"}


def test_edited_arguments_run_and_all_three_records_are_kept() -> None:
    world = shown()
    done = complete(world, "c1", o.Approve(arguments={"x": "é"}))
    call = find(world, "c1")
    edited = o.Approve(arguments={"x": "é"})
    assert done.records[0].data == j.CallResolved(
        call_id="c1", by="test", client=CLIENT, outcome=edited, arguments='{"x":"é"}'
    )
    assert (call.arguments, call.effective_arguments) == ('{"x":"1"}', '{"x":"é"}')
    assert done.records[1].data.arguments_hash == effective_hash(world.session, call)
    assert effective_hash(world.session, call) != proposed_hash(world.session, call)
    assert world.take(RunTool).arguments == {"x": "é"}


def test_an_edit_to_no_arguments_is_an_edit() -> None:
    world = shown()
    complete(world, "c1", o.Approve(arguments={}))
    assert world.take(RunTool).arguments == {}


def test_edited_arguments_are_held_against_the_schema() -> None:
    world = shown()
    assert refused(world, completion(world, "c1", o.Approve(arguments={"x": 3}))) == {
        "kind": "arguments/invalid",
        "retryable": False,
        "errors": ["at /x: not a string"],
    }
    assert states(world) == {"c1": "deferred"}


@pytest.mark.parametrize("value", ["secret", "boxed"])
@pytest.mark.parametrize(("stored", "latest"), [(STRICT, LOOSE), (LOOSE, STRICT), (STRICT, STRICT)])
def test_the_stricter_of_the_stored_and_the_current_policy_judges_an_edit(
    stored: Policy, latest: Policy, value: str
) -> None:
    world = shown(policy=stored)
    world.agent = agent(policy=latest)
    event = completion(world, "c1", o.Approve(arguments={"x": value}))
    assert refused(world, event) == {"kind": "permission/denied", "retryable": False}
    assert states(world) == {"c1": "deferred"}


def test_a_changed_definition_does_not_make_the_stored_policy_forgotten() -> None:
    world = shown(policy=STRICT)
    event = completion(world, "c1", o.Approve())
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    world.send(event)
    event = completion(world, "c1", o.Approve(arguments={"x": "secret"}))
    assert refused(world, event) == {"kind": "permission/denied", "retryable": False}


def test_a_policy_that_was_tightened_is_heeded_by_a_plain_approval_too() -> None:
    world = shown('{"x":"secret"}')
    world.agent = agent(policy=STRICT)
    error = refused(world, completion(world, "c1", o.Approve()))
    assert (error["kind"], states(world), world.starts) == ("permission/denied", {"c1": "deferred"}, [])


def test_an_edit_that_would_be_deferred_is_met_by_this_approval() -> None:
    world = shown(policy=STRICT)
    done = complete(world, "c1", o.Approve(arguments={"x": "other"}))
    assert came(done).did == ["run ask"]


def test_a_call_whose_definition_changed_since_it_was_shown_has_to_be_looked_at_again() -> None:
    world = shown()
    stale = completion(world, "c1", o.Approve())
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    done = world.send(stale)
    assert came(done) == Came(["call-decided"], ["refuse arguments/mismatch"], "partialUserTurn")
    fresh = shown_hash(world.session, find(world, "c1"))
    assert done.effects[0].error.data == {"kind": "arguments/mismatch", "retryable": False, "argumentsHash": fresh}
    assert (find(world, "c1").verdict.token, fresh != stale.arguments_hash) == (stale.token, True)
    assert refused(world, stale)["argumentsHash"] == fresh
    assert came(complete(world, "c1", o.Approve())).did == ["run ask"]


def test_arguments_that_the_new_schema_forbids_do_not_run_either() -> None:
    world = shown('{"x":"1"}')
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    world.send(completion(world, "c1", o.Approve()))
    world.schema_fault = "the arguments: 'q' is missing"
    error = refused(world, completion(world, "c1", o.Approve()))
    assert (error["kind"], error["errors"]) == ("arguments/invalid", ["the arguments: 'q' is missing"])
    assert (states(world), world.starts) == ({"c1": "deferred"}, [])


def test_a_definition_that_changed_resumes_nothing() -> None:
    world = shown()
    event = completion(world, "c1", o.Approve(), resume=True)
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    assert came(world.send(event)).did == ["refuse arguments/mismatch"]


@pytest.mark.parametrize("holding", ["paused", "draining"])
def test_an_approval_is_recorded_while_nothing_may_start_and_starts_on_resume(holding: str) -> None:
    world = shown()
    if holding == "paused":
        world.send(e.Pause(None, CLIENT))
    world.draining = holding == "draining"
    done = complete(world, "c1", o.Approve(), resume=True)
    assert came(done) == Came(["call-resolved"], [], "partialUserTurn")
    assert states(world) == {"c1": "approved"}
    world.draining = False
    assert came(world.drive(e.UNTIL_YIELD, resume=True)).did == ["run ask"]


def test_an_approval_while_a_cancel_is_on_its_way_starts_nothing() -> None:
    world = dispatched("run", "ask")
    world.send(e.Cancel(None, None, CLIENT))
    done = complete(world, "c2", o.Approve(), resume=True)
    assert came(done) == Came(["call-resolved"], [], "partialUserTurn", "stopping")
    done = world.tool_ends("run")
    wrote = ["call-finished", "call-finished", "tool-results", "cancelled"]
    assert came(done) == Came(wrote, ["end completed after 0"], "completed")
    assert states(world) == {"c1": "completed", "c2": "cancelled"}


def test_an_approved_call_survives_a_crash_as_approved() -> None:
    world = shown()
    world.send(e.Pause(None, CLIENT))
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.crash()
    assert states(world) == {"c1": "approved"}
    world.drive()
    assert world.take(RunTool).arguments == {"x": "2"}


def test_an_approved_call_whose_definition_changed_before_it_started_waits_again() -> None:
    world = shown()
    world.send(e.Pause(None, CLIENT))
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    assert came(world.drive()) == Came(["call-decided", "waiting"], ["end advanced after 1"], "partialUserTurn")
    call = find(world, "c1")
    assert (call.state, call.effective_arguments) == ("deferred", '{"x":"1"}')
    assert call.verdict.reason == "the tool's definition changed after the call was judged"


def test_an_uncertain_call_is_run_again_with_the_effective_arguments_that_were_shown() -> None:
    world = shown()
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.crash()
    call = find(world, "c1")
    assert (call.state, shown_hash(world.session, call)) == ("uncertain", effective_hash(world.session, call))
    proposed_only = e.Complete(call.verdict.token, o.Rerun(), proposed_hash(world.session, call), CLIENT)
    assert refused(world, proposed_only)["kind"] == "arguments/mismatch"
    done = complete(world, "c1", o.Rerun())
    assert came(done) == Came(["call-resolved", "call-started"], ["run ask"], "partialUserTurn")
    assert world.take(RunTool).arguments == {"x": "2"}


def test_an_uncertain_call_whose_definition_changed_stays_uncertain_with_its_arguments() -> None:
    world = shown()
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.crash()
    world.agent = agent(with_tool("ask", destructive=True), LOOSE)
    done = complete(world, "c1", o.Rerun())
    assert came(done) == Came(["call-decided"], ["refuse arguments/mismatch"], "partialUserTurn")
    call = find(world, "c1")
    assert (call.state, call.effective_arguments) == ("uncertain", '{"x":"2"}')
    assert refused(world, completion(world, "c1", o.DenyCall()))["legal"] == ["result", "error", "cancel", "rerun"]
    assert came(complete(world, "c1", o.Rerun())).did == ["run ask"]


def test_an_idempotent_call_whose_definition_changed_after_it_started_is_uncertain() -> None:
    world = crashed("safe")
    world.agent = agent(with_tool("safe", destructive=True))
    assert came(world.drive()) == Came(["call-decided", "waiting"], ["end advanced after 1"], "partialUserTurn")
    assert states(world) == {"c1": "uncertain"}
