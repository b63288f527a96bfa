"""The verdict of an agent's policy: which rule decides, and what a match is (agent-file.md, Policy)."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.stories import dispatched, find
from support.world import World, agent, tool

from abey.core.policy import Judgement, Link, judge, strictness
from abey.protocol.policy import AnyDisposition, Decorate, Defer, Deny, Policy, RunAsync, RunIsolated, RunSync

HOLDING = ("deny", "defer")
DENY = {"tag": "deny", "reason": "never"}


def verdict(policy: dict[str, Any] | None, arguments: Any = None, name: str = "git_push", **more: Any) -> Judgement:
    one = tool(name, **more)
    parsed = Policy.model_validate(policy) if policy is not None else None
    return judge(agent((one,), parsed), one, arguments if arguments is not None else {})


def ruled(*rules: dict[str, Any], default: Any = "runAsync") -> dict[str, Any]:
    return {"default": default, "rules": list(rules)}


def matched(wanted: Any, arguments: Any, pointer: str = "/x") -> bool:
    rule = {"tool": "*", "match": {pointer: wanted}, "disposition": "runSync"}
    return verdict(ruled(rule, default="defer"), arguments).disposition == RunSync()


def test_any_deny_comes_before_the_first_match() -> None:
    judged = verdict(ruled({"tool": "git_*", "disposition": "runSync"}, {"tool": "*", "disposition": DENY}))
    assert (judged.disposition, judged.reason) == (Deny(reason="never"), "never")


def test_the_first_rule_that_matches_decides() -> None:
    rules = [
        {"tool": "other", "disposition": "runSync"},
        {"tool": "git_*", "disposition": {"tag": "defer", "reason": "first"}},
        {"tool": "git_push", "disposition": {"tag": "defer", "reason": "second"}},
    ]
    judged = verdict(ruled(*rules))
    assert (judged.reason, judged.rule) == ("first", Policy.model_validate(ruled(*rules)).rules[1])


def test_without_a_match_the_default_decides() -> None:
    judged = verdict(ruled({"tool": "other", "disposition": DENY}))
    assert (judged.disposition, judged.rule) == (RunAsync(), None)


@pytest.mark.parametrize("policy", [None, {}, {"rules": []}], ids=["absent", "empty", "no rules"])
def test_without_a_default_tools_run_except_destructive_ones(policy: dict[str, Any] | None) -> None:
    assert verdict(policy).disposition == RunSync()
    judged = verdict(policy, destructive=True)
    assert judged.disposition == Defer(reason="the tool can change things")


OTHER_WAYS = ["/x/00", "/x/01", "/x/-", "/x/+0", "/x/ 0", "/x/0x0", "/x/\u0660", "/x/9", "/x/" + "9" * 5000]


@pytest.mark.parametrize("pointer", OTHER_WAYS, ids=lambda pointer: ascii(pointer[:9]))
def test_a_pointer_says_an_index_in_one_way_alone(pointer: str) -> None:
    arguments = {"x": ["a"] * 9 + ["b", "a"]}
    assert [matched("a", arguments, at) for at in ("/x/0", "/x/10", pointer)] == [True, True, False]


def test_a_default_that_runs_everything_means_everything() -> None:
    assert verdict({"default": "runSync"}, destructive=True, command="x").disposition == RunSync()


def test_the_chain_says_of_every_rule_whether_it_matched_and_why() -> None:
    rules = [
        {"tool": "other", "disposition": "runSync"},
        {"tool": "git_*", "match": {"/args/0": "pull"}, "disposition": "runSync"},
        {"tool": "git_*", "match": {"/args/7": "push"}, "disposition": "runSync"},
        {"tool": "git_*", "match": {"/args/0": "push"}, "disposition": "defer"},
        {"tool": "*", "disposition": "runSync"},
    ]
    parsed = Policy.model_validate(ruled(*rules)).rules
    assert verdict(ruled(*rules), {"args": ["push"]}).chain == (
        Link("agent", parsed[0], False, "the tool is not other"),
        Link("agent", parsed[1], False, "/args/0 is another value"),
        Link("agent", parsed[2], False, "nothing at /args/7"),
        Link("agent", parsed[3], True, "the tool is git_*, the arguments match"),
        Link("agent", parsed[4], True, "the tool is *"),
    )


@pytest.mark.parametrize(
    ("policy", "destructive", "why"),
    [
        ({"default": "defer"}, True, "the default of the agent file"),
        (None, True, "no default, and the tool is destructive"),
        (None, False, "no default: runSync"),
    ],
)
def test_the_chain_ends_with_the_default_where_no_rule_matched(
    policy: dict[str, Any] | None, destructive: bool, why: str
) -> None:
    assert verdict(policy, destructive=destructive).chain == (Link("agent", None, True, why),)


@pytest.mark.parametrize(
    ("pattern", "name", "hit"),
    [
        ("git_push", "git_push", True),
        ("git_push", "git_push2", False),
        ("git_*", "git_", True),
        ("*push", "git_push", True),
        ("g*p*h", "git_push", True),
        ("git.push", "git_push", False),
        ("*", "anything", True),
        ("GIT_*", "git_push", False),
    ],
)
def test_a_tool_is_named_exactly_or_by_a_glob(pattern: str, name: str, hit: bool) -> None:
    judged = verdict(ruled({"tool": pattern, "disposition": "defer"}), name=name)
    assert (judged.disposition == Defer()) is hit


@pytest.mark.parametrize(
    ("wanted", "arguments", "hit"),
    [
        ("a", {"x": "a"}, True),
        ("a", {"x": "ab"}, False),
        ("a", {}, False),
        ("a", {"y": "a"}, False),
        (["a", "b"], {"x": "b"}, True),
        (["a", "b"], {"x": "c"}, False),
        ([], {"x": "a"}, False),
        ({"glob": "/etc/*"}, {"x": "/etc/passwd"}, True),
        ({"glob": "/etc/*"}, {"x": "/etc/a\nb"}, True),
        ({"glob": "/etc/*"}, {"x": "x/etc/"}, False),
        ({"glob": "1"}, {"x": 1}, False),
        ([{"glob": "a*"}, "b"], {"x": "ax"}, True),
        ({"a": 1}, {"x": {"a": 1}}, True),
        ({"a": 1}, {"x": {"a": 1, "b": 2}}, False),
        (None, {"x": None}, True),
        (None, {}, False),
    ],
)
def test_a_match_is_a_value_a_list_of_values_or_a_glob(wanted: Any, arguments: Any, hit: bool) -> None:
    assert matched(wanted, arguments) is hit


@pytest.mark.parametrize("one", [1, True, "1", None, False, 0, ""], ids=repr)
@pytest.mark.parametrize("other", [1, True, "1", None, False, 0, ""], ids=repr)
def test_values_of_different_types_are_not_confused(one: Any, other: Any) -> None:
    same = repr(one) == repr(other)
    nested = ({"a": [one]}, {"x": {"a": [other]}})
    assert (matched(one, {"x": other}), matched(*nested)) == (same, same)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [("5", 5), (5, "5"), ([4, 5], "5"), ({"glob": "5*"}, 52), ("true", True), (True, "true"), ({"glob": "1.*"}, 1.5)],
)
@pytest.mark.parametrize("kind", ["command", "http", "executables"])
def test_what_a_program_is_given_as_the_same_text_is_held_back_alike(wanted: Any, given: Any, kind: str) -> None:
    one = replace(tool("t"), definition={"kind": kind})
    held = [Policy.model_validate(ruled({"tool": "t", "match": {"/x": wanted}, "disposition": by})) for by in HOLDING]
    judged = [judge(agent((one,), policy), one, {"x": given}).disposition for policy in held]
    assert judged == [Deny(), Defer()]
    other = replace(one, definition={"kind": "mcp"})
    assert [judge(agent((other,), policy), other, {"x": given}).disposition for policy in held] == [RunAsync()] * 2


def test_numbers_are_equal_as_numbers() -> None:
    assert (matched(1, {"x": 1.0}), matched(1.5, {"x": 1.5}), matched(1, {"x": 1.5})) == (True, True, False)


@pytest.mark.parametrize(
    ("pointer", "arguments", "hit"),
    [
        ("", "a", True),
        ("/x/0/y", {"x": [{"y": "a"}]}, True),
        ("/x/1", {"x": ["a"]}, False),
        ("/x/-1", {"x": ["a"]}, False),
        ("/x/²", {"x": ["a"]}, False),
        (f"/x/{'1' * 5000}", {"x": ["a"]}, False),
        ("/x/0", {"x": {"0": "a"}}, True),
        ("/a~1b", {"a/b": "a"}, True),
        ("/a~0b", {"a~b": "a"}, True),
        ("/~01", {"~1": "a"}, True),
        ("/x/y", {"x": "a"}, False),
    ],
)
def test_a_pointer_reaches_into_the_arguments(pointer: str, arguments: Any, hit: bool) -> None:
    assert matched("a", arguments, pointer) is hit


def test_every_pointer_of_a_match_has_to_match() -> None:
    rule = {"tool": "*", "match": {"/x": "a", "/y": "b"}, "disposition": "defer"}
    assert verdict(ruled(rule), {"x": "a", "y": "b"}).disposition == Defer()
    assert verdict(ruled(rule), {"x": "a", "y": "c"}).disposition == RunAsync()


def test_a_match_on_another_argument_of_a_shell_tool_loosens() -> None:
    rule = {"tool": "*", "match": {"/where": "here"}, "disposition": "runSync"}
    judged = verdict(ruled(rule, default="defer"), {"cmd": "ls", "where": "here"}, command="cmd")
    assert judged.disposition == RunSync()


def test_a_deny_rule_takes_the_argument_of_another_tool_whole() -> None:
    rule = {"tool": "*", "match": {"/cmd": {"glob": "rm *"}}, "disposition": DENY}
    assert verdict(ruled(rule), {"cmd": "ls; rm -rf /"}).disposition == RunAsync()


def test_a_rule_says_whether_a_call_runs_alone_and_when_it_expires() -> None:
    judged = verdict(ruled({"tool": "*", "disposition": "runSync", "serial": True, "expireSeconds": 5}))
    assert (judged.serial, judged.expire_seconds, judged.reason) == (True, 5, None)
    assert (verdict(None).serial, verdict(None).expire_seconds) == (False, None)


def test_the_disposition_has_the_last_word_on_when_a_call_expires() -> None:
    deferred = {"tag": "defer", "expireSeconds": 9}
    assert verdict(ruled({"tool": "*", "disposition": deferred, "expireSeconds": 5})).expire_seconds == 9


def test_a_decorated_deny_denies_and_a_decorated_defer_keeps_its_reason() -> None:
    label = {"tag": "label", "label": "l"}
    denied = {"tag": "decorate", "decorators": [label], "inner": DENY}
    judged = verdict(ruled({"tool": "*", "disposition": "runSync"}, {"tool": "*", "disposition": denied}))
    assert (strictness(judged.disposition), judged.reason) == (3, "never")


@pytest.mark.parametrize(
    ("disposition", "order"),
    [(RunSync(), 0), (RunAsync(), 0), (RunIsolated(), 1), (Defer(), 2), (Deny(), 3)],
)
def test_deny_is_stricter_than_defer_and_defer_than_whatever_runs(disposition: AnyDisposition, order: int) -> None:
    decorated = Decorate(decorators=(), inner=disposition)
    assert (strictness(disposition), strictness(decorated)) == (order, order)


def test_the_time_a_call_expires_counts_from_its_decision() -> None:
    rule = {"tool": "*", "disposition": "defer", "expireSeconds": 5}
    world = World(agent=agent(policy=Policy.model_validate(ruled(rule))))
    dispatched("run", world=world)
    assert find(world, "c1").verdict.expires_at == f"T{world.millis + 5000:015d}Z"


@given(st.text("ab*", max_size=6), st.text("ab", max_size=8))
def test_a_glob_is_what_its_regular_expression_would_be(glob: str, text: str) -> None:
    expression = ".*".join(re.escape(part) for part in glob.split("*"))
    assert matched({"glob": glob}, {"x": text}) == bool(re.fullmatch(expression, text, re.DOTALL))


@pytest.mark.parametrize(
    ("glob", "text"), [("*a*a*a*b", "a" * 3000), ("*git*push*", "git" * 100_000), ("*t" * 13, "t" * 40)]
)
def test_no_text_of_a_model_makes_a_glob_slow(glob: str, text: str) -> None:
    assert matched({"glob": glob}, {"x": text}) == (glob == "*t" * 13)


@pytest.mark.parametrize("tool_rule", ["default", "rule"])
def test_an_end_in_more_than_a_hundred_years_is_refused(tool_rule: str) -> None:
    late = {"tag": "defer", "expireSeconds": 10**12}
    policy = {"default": late} if tool_rule == "default" else ruled({"tool": "*", "disposition": late})
    with pytest.raises(ValidationError, match="less than or equal to"):
        Policy.model_validate(policy)


def test_a_match_by_anything_but_a_pointer_is_refused() -> None:
    with pytest.raises(ValidationError, match="a match is by JSON pointer: /command"):
        Policy.model_validate(ruled({"tool": "t", "match": {"command": "rm"}, "disposition": "deny"}))


@pytest.mark.parametrize("disposition", ["runSync", "runAsync", "runIsolated"])
def test_what_only_others_can_run_is_deferred_whatever_the_policy_says(disposition: str) -> None:
    judged = verdict({"default": disposition}, runnable=False)
    assert judged.disposition == Defer(reason="only others can run it")
    assert judged.chain[-1] == Link("tool", None, True, "only others can run it")
    assert verdict({"default": DENY}, runnable=False).disposition == Deny(reason="never")
