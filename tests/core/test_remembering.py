"""Remembered rules: made of an answer, kept first, and applied to what waits already (machine.md, Remembered rules)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stories import Came, came, completion, crashed, find, proposed, refused, states
from support.world import CLIENT, TOOLS, World, agent, tool

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.policy import Floor
from abey.core.remembering import made
from abey.core.replay import fold
from abey.core.session_rules import counted
from abey.core.views import resolution_view
from abey.errors import InvalidArguments
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import AskedRule, Policy, Rule

ASK = {"tool": "ask", "disposition": "runSync", "scope": "session", "match": {"": {"x": "1"}}}


def asked_rule(**changes: Any) -> AskedRule:
    return AskedRule.model_validate({key: value for key, value in (ASK | changes).items() if value is not None})


def kept_rule(**changes: Any) -> Rule:
    """A rule as the file has it."""
    rule = asked_rule(scope="user", **changes)
    return made(rule, session_id=None, origin="by hand", now="T000000000000000Z")


def answered(world: World, call_id: str, rule: AskedRule | None, outcome: Any = None) -> e.Complete:
    event = completion(world, call_id, outcome or o.Approve())
    return e.Complete(event.token, event.outcome, event.arguments_hash, CLIENT, False, rule)


def waiting(*texts: str, world: World | None = None, name: str = "ask") -> World:
    """Calls c1, c2, … of one tool with these arguments texts, all of which wait."""
    calls = [(f"c{number}", name, text) for number, text in enumerate(texts, 1)]
    world = proposed(*calls, world=world)
    world.drive()
    return world


ONE, OTHER = '{"x":"1"}', '{"x":"2"}'


def test_a_rule_of_the_session_is_recorded_before_the_answer_and_answers_what_waits_already() -> None:
    world = waiting(ONE, OTHER, '{ "x": "1" }')
    done = world.send(answered(world, "c1", asked_rule()))
    assert came(done) == Came(
        ["rule-added", "call-resolved", "call-started", "call-resolved", "call-started"],
        ["run ask", "run ask"],
        "partialUserTurn",
    )
    (rule,) = world.session.rules
    resolved = [find(world, one).resolution for one in ("c1", "c3")]
    assert [(one.by, one.client, one.outcome, one.rule_id) for one in resolved if one is not None] == [
        ("test", CLIENT, o.Approve(), rule.rule_id),
        ("rule", None, o.Approve(), rule.rule_id),
    ]
    assert states(world) == {"c1": "running", "c2": "deferred", "c3": "running"}
    assert resolution_view(find(world, "c3")).text == f"approved by rule at {find(world, 'c3').resolved_at}"
    assert [one.uses for one in counted(world.session)] == [1]


def test_a_rule_of_the_user_is_kept_by_the_shell_and_answers_what_waits_here_in_the_same_write() -> None:
    world = waiting(ONE, ONE)
    done = world.send(answered(world, "c1", asked_rule(scope="user")))
    assert came(done) == Came(
        ["call-resolved", "call-started", "call-resolved", "call-started"],
        ["remember ask", "run ask", "run ask"],
        "partialUserTurn",
    )
    assert [(one.scope, one.workspace, one.uses) for one in world.kept] == [("user", None, 0)]


def test_a_rule_of_the_workspace_names_the_folder_of_the_session() -> None:
    world = waiting(ONE)
    world.send(answered(world, "c1", asked_rule(scope="workspace")))
    assert [(one.scope, one.workspace) for one in world.kept] == [("workspace", "/w")]


def test_the_next_such_call_runs_without_a_question_and_counts() -> None:
    world = waiting(ONE)
    world.send(answered(world, "c1", asked_rule()))
    world.tool_ends()
    again = proposed_again(world, ("d1", "ask", ONE), ("d2", "ask", OTHER))
    assert states(again) == {"c1": "completed", "d1": "running", "d2": "deferred"}
    assert [one.uses for one in counted(world.session)] == [1]


def proposed_again(world: World, *calls: tuple[str, str, str]) -> World:
    from support.world import answer

    world.drive()
    world.model_says(answer(*calls))
    world.drive()
    return world


def test_what_the_session_remembers_survives_a_restart_and_is_forgotten_when_it_is_removed() -> None:
    world = waiting(ONE, ONE)
    world.send(e.ChangeRules("add", made_here(), CLIENT))
    assert states(world) == {"c1": "running", "c2": "running"}
    world.crash()
    (rule,) = world.session.rules
    told = [came(world.send(e.ChangeRules("remove", rule, CLIENT))).wrote for _ in range(2)]
    assert told == [["rule-removed"], []]
    assert world.session.rules == ()
    world.crash()
    assert world.session.rules == ()


def made_here(**changes: Any) -> Rule:
    return made(asked_rule(**changes), session_id="s1", origin="by hand", now="T000000000000000Z")


def test_a_session_that_is_imported_brings_no_rule() -> None:
    world = waiting(OTHER)
    world.send(e.ChangeRules("add", made_here(), CLIENT))
    came_from = j.Imported(format="jsonl", source="s1.jsonl")
    session = fold([*world.records, j.Record(world.records[-1].rev + 1, world.context().now, came_from)])
    assert session is not None
    assert (len(world.session.rules), session.rules) == (1, ())


def test_the_same_rule_again_is_the_same_rule() -> None:
    world = waiting(ONE)
    world.send(e.ChangeRules("add", made_here(), CLIENT))
    assert came(world.send(e.ChangeRules("add", made_here(), CLIENT))).wrote == []


def test_a_denial_with_a_rule_denies_what_waits_and_what_comes() -> None:
    world = waiting(ONE, ONE, OTHER)
    world.send(answered(world, "c1", asked_rule(disposition="deny"), o.DenyCall(message="no")))
    assert states(world) == {"c1": "denied", "c2": "denied", "c3": "deferred"}
    assert (find(world, "c2").started, find(world, "c2").resolution.rule_id) == (None, world.session.rules[0].rule_id)


UNFIT: dict[str, tuple[dict[str, Any], Any]] = {
    "another tool": ({"tool": "run"}, None),
    "a glob for the tool": ({"tool": "as*"}, None),
    "another call": ({"match": {"": {"x": "2"}}}, None),
    "nothing there": ({"match": {"/y": "1"}}, None),
    "a denial with an approval": ({"disposition": "deny"}, None),
    "an approval with a denial": ({}, o.DenyCall()),
    "a workspace of another session": ({"scope": "workspace", "workspace": "/elsewhere"}, None),
    "a workspace that says nothing": ({"workspace": "/w"}, None),
    "the edited arguments are others": ({}, o.Approve(arguments={"x": "9"})),
    "too long": ({"match": {"": {"x": "1"}, "/x": ["1", "y" * 20000]}}, None),
}


@pytest.mark.parametrize(("changes", "outcome"), UNFIT.values(), ids=UNFIT)
def test_a_rule_that_is_not_about_this_very_call_is_refused_and_nothing_happens(changes, outcome) -> None:
    world = waiting(ONE)
    event = answered(world, "c1", asked_rule(**changes), outcome)
    assert refused(world, event)["kind"] == "arguments/invalid"
    assert (states(world), world.kept, world.session.rules) == ({"c1": "deferred"}, [], ())


SHELL = Tool("sh", "", TOOLS[0].parameters, {"kind": "command"}, "h", destructive=True, command="x")
COMMANDS = agent((SHELL,), Policy.model_validate({"default": "defer"}))
TOO_WIDE: list[tuple[Any, str]] = [(None, "runSync"), ({"/y": "1"}, "runSync"), ({"/y": "1"}, "runAsync")]


@pytest.mark.parametrize(("match", "disposition"), TOO_WIDE)
def test_an_answer_lets_no_command_run_that_its_rule_does_not_name(match: Any, disposition: str) -> None:
    world = waiting('{"x":"1","y":"1"}', world=World(agent=COMMANDS), name="sh")
    event = answered(world, "c1", asked_rule(tool="sh", match=match, disposition=disposition))
    told = refused(world, event)
    assert (told["kind"], "too wide" in str(told["errors"])) == ("arguments/invalid", True)
    assert (states(world), world.kept, world.session.rules) == ({"c1": "deferred"}, [], ())


def test_an_answer_may_deny_every_command() -> None:
    world = waiting(ONE, world=World(agent=COMMANDS), name="sh")
    world.send(answered(world, "c1", asked_rule(tool="sh", match=None, disposition="deny"), o.DenyCall()))
    assert (states(world), len(world.session.rules)) == ({"c1": "denied"}, 1)


def test_a_rule_that_a_floor_would_stop_is_refused_instead_of_promising_something() -> None:
    world = waiting(ONE)
    world.floors = (Floor("user", Policy.model_validate({"rules": [{"tool": "ask", "disposition": "defer"}]})),)
    told = refused(world, answered(world, "c1", asked_rule()))
    assert (told["kind"], states(world)) == ("arguments/invalid", {"c1": "deferred"})


def test_a_mismatch_remembers_nothing() -> None:
    world = waiting(ONE)
    world.agent = agent(tuple(tool("ask", destructive=True) if one.name == "ask" else one for one in TOOLS))
    done = world.send(answered(world, "c1", asked_rule(scope="user")))
    assert came(done) == Came(["call-decided"], ["refuse arguments/mismatch"], "partialUserTurn")
    assert world.kept == []


def test_an_answer_that_came_too_late_remembers_nothing() -> None:
    world = waiting(ONE)
    event = answered(world, "c1", asked_rule())
    world.send(answered(world, "c1", None, o.DenyCall()))
    done = world.send(event)
    assert (done.answer, came(done).wrote, world.session.rules) == ({"applied": False}, [], ())


def floor(world: World) -> None:
    world.floors = (Floor("user", Policy.model_validate({"rules": [{"tool": "*", "disposition": "defer"}]})),)


def deny(world: World) -> None:
    world.agent = agent(
        policy=Policy.model_validate({"default": "defer", "rules": [{"tool": "*", "disposition": "deny"}]})
    )


def changed_tool(world: World) -> None:
    world.agent = agent(tuple(tool("ask", destructive=True) if one.name == "ask" else one for one in TOOLS))


def shown_again(world: World) -> None:
    """The tool has changed, and somebody was told so: nobody has looked since."""
    changed_tool(world)
    world.send(completion(world, "c1", o.Approve()))


def no_tool(world: World) -> None:
    world.agent = agent(())


def other_schema(world: World) -> None:
    world.schema_fault = "nothing fits any more"


@pytest.mark.parametrize("happens", [floor, deny, changed_tool, shown_again, no_tool, other_schema])
def test_a_rule_answers_nothing_that_policy_tool_or_schema_speak_against(happens) -> None:
    world = waiting(ONE)
    happens(world)
    before = world.session.revision
    world.send(e.ChangeRules("apply", kept_rule()))
    assert (states(world), world.session.revision) == ({"c1": "deferred"}, before)


def test_a_rule_never_answers_what_only_others_can_run_nor_what_may_have_run() -> None:
    external = waiting("{}", name="ext")
    external.send(e.ChangeRules("apply", kept_rule(tool="ext", match=None)))
    uncertain = crashed("run")
    uncertain.send(e.ChangeRules("apply", kept_rule(tool="run", match=None)))
    assert (states(external), states(uncertain)) == ({"c1": "deferred"}, {"c1": "uncertain"})


def test_what_a_rule_answers_while_paused_or_draining_starts_later() -> None:
    paused, draining = waiting(ONE), waiting(ONE)
    paused.send(e.Pause(None, CLIENT))
    draining.draining = True
    for world in (paused, draining):
        world.send(e.ChangeRules("apply", kept_rule()))
        assert (states(world), world.effects) == ({"c1": "approved"}, [])
    paused.drive(e.UNTIL_YIELD, resume=True)
    assert states(paused) == {"c1": "running"}


def test_what_a_rule_answered_waits_again_where_its_tool_changed_before_it_could_start() -> None:
    world = waiting(ONE)
    world.send(e.Pause(None, CLIENT))
    world.send(e.ChangeRules("apply", kept_rule()))
    changed_tool(world)
    world.drive(e.UNTIL_YIELD, resume=True)
    assert (states(world), world.starts) == ({"c1": "deferred"}, [])


def test_a_turn_that_is_being_cancelled_is_left_alone() -> None:
    world = waiting(ONE, OTHER)
    world.send(completion(world, "c2", o.Approve()))
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.ChangeRules("apply", kept_rule()))
    assert states(world)["c1"] == "deferred"


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": "*", "scope": "user"},
        {"scope": "workspace"},
        {"scope": "user", "workspace": "/w"},
        {"scope": "workspace", "workspace": "w"},
        {"scope": "session"},
    ],
)
def test_by_hand_too_a_rule_says_whose_calls_it_lets_run(changes) -> None:
    with pytest.raises(InvalidArguments):
        made(asked_rule(**changes), session_id=None, origin="by hand", now="T000000000000000Z")


def test_what_denies_may_be_about_many_tools() -> None:
    assert kept_rule(tool="git_*", disposition="deny", match=None).tool == "git_*"


CALLS = st.lists(st.sampled_from([ONE, OTHER, "{}", '{"x":"1","y":2}']), min_size=1, max_size=5)
POLICIES = st.lists(
    st.builds(
        lambda name, disposition: {"tool": name, "disposition": disposition},
        st.sampled_from(["ask", "*", "no"]),
        st.sampled_from(["deny", "defer", "runIsolated", "runSync"]),
    ),
    max_size=3,
)


@given(texts=CALLS, later=POLICIES, floors=POLICIES, broad=st.booleans())
def test_whatever_happens_in_between_a_rule_lets_nothing_run_but_what_policy_and_floors_of_now_do(
    texts: list[str], later: list[Any], floors: list[Any], broad: bool
) -> None:
    world = waiting(*texts)
    world.agent = agent(policy=Policy.model_validate({"default": "defer", "rules": later}))
    world.floors = (Floor("user", Policy.model_validate({"rules": floors})),)
    rule = kept_rule(match=None) if broad else kept_rule()
    world.send(e.ChangeRules("apply", rule))
    own, above = ([one["disposition"] for one in rules if one["tool"] in ("ask", "*")] for rules in (later, floors))
    speaks_against = "deny" in own + above or own[:1] == ["runIsolated"] or above[:1] not in ([], ["runSync"])
    ran = [text for text, state in zip(texts, states(world).values(), strict=True) if state == "running"]
    assert all(broad or text == ONE for text in ran)
    assert not (ran and speaks_against)
