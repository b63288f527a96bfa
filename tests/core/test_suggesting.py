"""The rules that are suggested with a pending call (machine.md, Remembered rules)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stories import completion, proposed, states
from support.world import CLIENT, TOOLS, World, agent, tool

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.pending_views import pending_view
from abey.core.suggesting import MOST_BYTES, RULE_BYTES, is_plainly_one, most_bytes
from abey.protocol.ascii_json import ascii_size
from abey.protocol.outcomes import Approve
from abey.protocol.policy import AskedRule, Policy

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}}
WIDE = {"type": "object", "properties": {"command": {"type": "string"}, "host": {"type": "string"}}}
DEFERS = Policy.model_validate({"default": "defer"})


def shell(parameters: Any = SHELL) -> Tool:
    return replace(tool("sh", command="command"), parameters=parameters)


def waiting(name: str, arguments: Any, parameters: Any = SHELL) -> World:
    world = World(agent=agent((*TOOLS, shell(parameters)), DEFERS))
    proposed(("c1", name, json.dumps(arguments)), world=world)
    world.drive()
    return world


def offered(world: World) -> list[tuple[str, Any]]:
    (call,) = pending_view(world.session, world.agent)
    return [(one.scope, one.match) for one in call.suggestions]


SCOPES = ("session", "workspace", "user")


def test_the_narrowest_rule_is_about_exactly_these_arguments_in_every_scope() -> None:
    world = waiting("ask", {"x": "1", "more": ["a", {"b": None}]})
    assert offered(world) == [(scope, {"": {"x": "1", "more": ["a", {"b": None}]}}) for scope in SCOPES]


def test_a_suggestion_is_a_whole_rule_and_the_same_each_time() -> None:
    world = waiting("ask", {"x": "1"})
    (call,) = pending_view(world.session, world.agent)
    first = call.suggestions[0].wire()
    assert first == {
        "ruleId": first["ruleId"],
        "tool": "ask",
        "match": {"": {"x": "1"}},
        "disposition": "runSync",
        "scope": "session",
        "origin": "c1 of session s1",
        "createdAt": call.created_at,
        "uses": 0,
    }
    assert call.suggestions[1].workspace == "/w"
    assert len({one.rule_id for one in call.suggestions}) == 3
    assert pending_view(world.session, world.agent)[0].suggestions == call.suggestions


def test_of_a_shell_command_it_is_the_plain_command_and_its_beginning_where_that_only_looks() -> None:
    exact = [(scope, {"/command": "git status -s"}) for scope in SCOPES]
    like = [(scope, {"/command": {"glob": "git status*"}}) for scope in SCOPES]
    assert offered(waiting("sh", {"command": "git status -s"})) == exact + like
    assert offered(waiting("sh", {"command": "git push"})) == [(scope, {"/command": "git push"}) for scope in SCOPES]


@pytest.mark.parametrize("does", ["blame", "diff", "log", "shortlog", "show", "branch", "stash"])
def test_what_writes_a_file_if_it_is_told_so_has_no_rule_about_its_beginning(does: str) -> None:
    command = f"git {does} x"
    assert offered(waiting("sh", {"command": command})) == [(scope, {"/command": command}) for scope in SCOPES]


def test_where_a_shell_tool_takes_more_than_the_command_all_of_it_counts() -> None:
    arguments = {"command": "git log", "host": "a"}
    exact = [(scope, {"": arguments, "/command": "git log"}) for scope in SCOPES]
    assert offered(waiting("sh", arguments, WIDE)) == exact
    alone = {"command": "git log"}
    assert offered(waiting("sh", alone, WIDE)) == [(one, {"": alone, "/command": "git log"}) for one in SCOPES]


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm -rf /", "ls && id", "ls | sh", "ls > f", "ls < f", "ls\nid", "ls `id`", "ls $(id)", "ls ${HOME}",
        "ls $X", "ls &", "X=1 ls", "sudo ls", "env ls", "/usr/bin/env ls", "xargs ls", "find . -exec id",
        "sh -c ls", "timeout 1 ls", "nohup ls", "ls *", "ls ~", "ls {a,b}", "ls \\\nid", "ls\tx", "ls  x", " ls",
        "ls ", "", "'ls' x", "! ls", "# ls", "ls 'a", "ls \"$(id)\"", "ls '\n'", "ls \x1b", "ls \u202e", "ls \xe9",
        "(ls)", "if ls", "eval ls", "exec ls", ". x",
    ],
)  # fmt: skip
def test_what_is_not_one_plain_command_beyond_doubt_has_no_suggestion(command: str) -> None:
    assert offered(waiting("sh", {"command": command})) == []


@pytest.mark.parametrize("command", ["git commit -m 'a b'", 'grep "a b" f', "make -j4 all", "./run.sh --x=1"])
def test_a_plain_command_with_quotes_is_one(command: str) -> None:
    assert is_plainly_one(command)


def test_a_text_that_is_made_to_be_looked_at_for_long_is_not() -> None:
    assert not is_plainly_one("a" * 2000 + ";")
    assert not is_plainly_one("a='" * 600 + ";")


@pytest.mark.parametrize("arguments", [{"x": "y" * MOST_BYTES}, {"glob": "*"}], ids=["too long to read", "a glob"])
def test_what_no_rule_can_say_exactly_has_no_suggestion(arguments: Any) -> None:
    assert offered(waiting("ask", arguments)) == []


@pytest.mark.parametrize("letter", ["y", "\x7f", '"', "é", "\U0001f600", "\ud800"])
def test_no_rule_is_longer_than_it_may_be(letter: str) -> None:
    letters, numbers = letter * (MOST_BYTES // 12 - 10), [0.00001] * (MOST_BYTES // 6 - 10)
    for arguments in ({"x": letters}, {"x": "1", "more": numbers}):
        world = waiting("ask", arguments)
        (call,) = pending_view(world.session, world.agent)
        rules = [one.model_copy(update={"origin": letter * RULE_BYTES}) for one in call.suggestions]
        assert len(rules) == 3 and ascii_size(rules) <= most_bytes(rules)


def test_what_only_others_can_run_has_none() -> None:
    assert offered(waiting("ext", {})) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "glob", "b"]), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=40)
@given(arguments=st.dictionaries(st.sampled_from(["a", "glob", "y"]), VALUES, max_size=3))
def test_every_suggestion_can_be_taken_and_lets_this_very_call_run_and_no_other(arguments: dict[str, Any]) -> None:
    world = waiting("ask", arguments)
    for suggested in pending_view(world.session, world.agent)[0].suggestions:
        again = waiting("ask", arguments)
        event = completion(again, "c1", Approve())
        rule = AskedRule.model_validate(suggested.wire())
        again.send(e.Complete(event.token, event.outcome, event.arguments_hash, CLIENT, False, rule))
        assert states(again) == {"c1": "running"}
        other = waiting("ask", {**arguments, "more": 1})
        other.send(e.ChangeRules("apply", suggested))
        assert states(other) == {"c1": "deferred"}
