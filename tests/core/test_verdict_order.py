"""Who has a say in a verdict, and who comes first (agent-file.md, The order of a verdict)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.world import agent, plainly, tool

from abey.core.agent import Tool
from abey.core.policy import (
    DEFERS_REASON,
    NOT_PLAIN_REASON,
    UNCLEAR_REASON,
    Floor,
    Judgement,
    Laws,
    Link,
    judge,
    policy_hash,
    strictness,
)
from abey.protocol.policy import Decorate, Defer, Deny, Policy, Rule, RunAsync, RunIsolated, RunSync, Timeout

USER, WORKSPACE = "user", "workspace"


def policy(*rules: dict[str, Any], default: Any = None) -> Policy:
    return Policy.model_validate(
        {"rules": list(rules)} if default is None else {"rules": list(rules), "default": default}
    )


def rule(disposition: Any, match: dict[str, Any] | None = None, tool: str = "*", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "disposition": disposition, **({"match": match} if match else {}), **more}


def remembered(disposition: Any, scope: str = "user", match: dict[str, Any] | None = None, tool: str = "t") -> Rule:
    said = {"ruleId": f"{tool} {scope} {disposition}", "tool": tool, "match": match, "disposition": disposition}
    return Rule.model_validate({**said, "scope": scope, "origin": "o", "createdAt": "now", "uses": 0})


def verdict(
    file: Policy | None, floors: dict[str, Policy] | None = None, command: str | None = None, **laws: Any
) -> Judgement:
    one = tool("t", **({"command": "cmd"} if command is not None else {}))
    said = Laws(tuple(Floor(layer, one) for layer, one in (floors or {}).items()), read=plainly, **laws)
    return judge(agent((one,), file), one, {} if command is None else {"cmd": command}, said)


FILE = policy(rule("defer"))


@pytest.mark.parametrize(
    "laws",
    [
        {"floors": {USER: policy(rule("deny"))}},
        {"floors": {WORKSPACE: policy(rule("deny"))}},
        {"floors": {USER: policy(rule("runSync"), rule("deny"))}},
        {"floors": {USER: policy(default="deny")}},
        {"remembered": (remembered("deny"),)},
        {"remembered": (remembered("deny", tool="*"), remembered("runSync", "session"))},
        {"parents": (policy(rule("deny")),)},
        {"parents": (None, policy(default="deny"))},
    ],
)
def test_a_deny_of_any_layer_wins(laws: dict[str, Any]) -> None:
    assert verdict(policy(rule("runSync")), **laws).disposition == Deny()


def test_a_remembered_rule_loosens_a_defer_of_the_agent_file() -> None:
    always = remembered("runSync")
    judged = verdict(FILE, remembered=(always,))
    assert judged == Judgement(
        RunSync(),
        always,
        (Link("rule", always, True, "the tool is t"), Link("agent", FILE.rules[0], True, "the tool is *")),
    )


@pytest.mark.parametrize("file", [policy(default="defer"), None], ids=["default", "destructive"])
def test_a_remembered_rule_loosens_a_default_that_defers(file: Policy | None) -> None:
    one = tool("t", destructive=True)
    judged = judge(agent((one,), file), one, {}, Laws(remembered=(remembered("runAsync"),)))
    assert judged.disposition == RunAsync()


@pytest.mark.parametrize("said", ["deny", "runIsolated"])
def test_a_remembered_rule_loosens_nothing_else(said: str) -> None:
    assert verdict(policy(rule(said)), remembered=(remembered("runSync"),)).disposition.tag == said


def test_a_remembered_rule_keeps_what_else_the_file_says() -> None:
    timed = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 5}], "inner": "defer"}
    judged = verdict(policy(rule(timed, serial=True)), remembered=(remembered("runSync"),))
    assert (judged.disposition, judged.serial) == (
        Decorate(decorators=(Timeout(seconds=5),), inner=RunSync()),
        True,
    )


def test_of_remembered_rules_the_narrowest_decides() -> None:
    rules = (remembered("runSync"), remembered("runAsync", "workspace"), remembered("defer", "session"))
    for count, expected in ((1, RunSync()), (2, RunAsync()), (3, Defer())):
        for order in (rules[:count], rules[:count][::-1]):
            assert verdict(FILE, remembered=order).disposition == expected


@pytest.mark.parametrize("floor", [USER, WORKSPACE])
def test_a_floor_is_stricter_than_a_remembered_rule(floor: str) -> None:
    laws = {floor: policy(rule({"tag": "defer", "reason": "floor"}))}
    judged = verdict(FILE, laws, remembered=(remembered("runSync"),))
    assert (judged.disposition, judged.rule) == (Defer(reason="floor"), laws[floor].rules[0])


@pytest.mark.parametrize(
    ("file", "floor", "expected"),
    [
        ("runAsync", policy(), RunAsync()),
        ("runAsync", policy(rule("defer", tool="other")), RunAsync()),
        ("runAsync", policy(rule("runSync"), default="defer"), RunAsync()),
        ("runAsync", policy(rule("runIsolated")), RunIsolated()),
        ("runAsync", policy(default="defer"), Defer()),
        ("defer", policy(rule("runSync")), Defer()),
        ("defer", policy(default="runSync"), Defer()),
        ("deny", policy(rule("runSync")), Deny()),
    ],
)
def test_the_stricter_of_the_file_and_a_floor_wins(file: str, floor: Policy, expected: Any) -> None:
    assert verdict(policy(rule(file)), {USER: floor}).disposition == expected


def test_a_broken_floor_lets_nothing_run_and_loosens_nothing() -> None:
    one = tool("t")
    laws = Laws((Floor(USER, Policy(), "policy.json: no"),), remembered=(remembered("runSync"),))
    judged = judge(agent((one,), policy(rule("runSync"))), one, {}, laws)
    assert (judged.disposition, judged.chain[-1]) == (
        Defer(reason="policy.json: no"),
        Link(USER, None, True, "policy.json: no"),
    )
    assert judge(agent((one,), policy(rule("deny"))), one, {}, laws).disposition == Deny()


def test_what_one_defers_and_another_isolates_waits_and_then_runs_isolated() -> None:
    boxed = {"tag": "runIsolated", "network": True, "writable": True}
    for file, floor in (("defer", boxed), (boxed, "defer")):
        judged = verdict(policy(rule(file)), {USER: policy(rule(floor))})
        assert (judged.disposition, judged.isolation) == (Defer(), RunIsolated(network=True, writable=True))


def test_two_sandboxes_together_allow_what_both_allow() -> None:
    one, other = {"tag": "runIsolated", "network": True}, {"tag": "runIsolated", "network": False, "writable": True}
    judged = verdict(policy(rule(one)), {USER: policy(rule(other))})
    assert (judged.disposition, judged.isolation) == (RunIsolated(network=False), RunIsolated(network=False))


def test_the_sooner_end_counts_and_whoever_wants_a_call_alone_is_heard() -> None:
    floor = policy(rule("defer", expireSeconds=5, serial=True))
    judged = verdict(policy(rule({"tag": "defer", "expireSeconds": 9})), {USER: floor})
    assert (judged.expire_seconds, judged.serial) == (5, True)


def test_a_child_is_held_by_the_whole_policy_of_each_parent() -> None:
    ran = policy(rule("runSync"))
    assert verdict(ran, parents=(ran, None)).disposition == RunSync()
    above = "the policy of a session above this one defers it"
    assert verdict(ran, parents=(ran, policy(default="defer"))).disposition == Defer(reason=above)
    one = tool("t", destructive=True)
    judged = judge(agent((one,), ran), one, {}, Laws(parents=(None,)))
    assert (judged.disposition, judged.chain[-1]) == (
        Defer(reason=f"{above}: the tool can change things"),
        Link("parent", None, True, "no default, and the tool is destructive"),
    )


def test_the_reason_names_a_policy_above_only_where_the_own_one_would_let_the_call_run() -> None:
    parents = (policy(rule({"tag": "defer", "reason": "ask me"})),)
    told = [verdict(policy(rule(own)), parents=parents).reason for own in ("runSync", "defer", "runIsolated")]
    above = "the policy of a session above this one defers it: ask me"
    assert told == [above, "ask me", above]


def test_what_only_others_can_run_waits_whoever_lets_it_run() -> None:
    one = tool("t", runnable=False)
    judged = judge(agent((one,), policy(rule("runSync"))), one, {}, Laws(remembered=(remembered("runSync"),)))
    assert (judged.reason, judged.chain[-1].layer) == ("only others can run it", "tool")


def test_the_chain_names_every_layer_in_the_order_it_was_asked() -> None:
    floors = {USER: policy(rule("runSync")), WORKSPACE: policy(default="runSync")}
    judged = verdict(
        policy(rule("runSync")), floors, remembered=(remembered("runSync"),), parents=(policy(rule("defer")),)
    )
    assert [link.layer for link in judged.chain] == ["rule", "agent", USER, "parent", WORKSPACE]


def test_a_remembered_rule_about_a_command_is_for_one_plain_command() -> None:
    always = remembered("runSync", match={"/cmd": {"glob": "git log*"}})
    told = [verdict(FILE, command=text, remembered=(always,)).disposition.tag for text in ("git log -5", "git log; ls")]
    assert told == ["runSync", "defer"]


def test_who_lets_every_command_run_lets_run_what_no_rule_is_about() -> None:
    every = policy(rule("runSync", {"/cmd": {"glob": "git log*"}}), default="runSync")
    assert [verdict(every, command=text).disposition.tag for text in ("ls -l", "git log", "git log; ls")] == [
        "runSync",
        "runSync",
        "defer",
    ]


def test_what_may_be_denied_waits_even_where_a_rule_lets_all_run() -> None:
    file = policy(rule("runSync"), rule("deny", {"/cmd": {"glob": "rm *"}}))
    judged = verdict(file, command="$X", remembered=(remembered("runSync"),))
    assert judged.reason == "a rule that denies may be about it, and nobody can tell from the command"


def test_a_call_that_several_hold_back_is_shown_with_every_reason() -> None:
    floors = {USER: policy(rule({"tag": "defer", "reason": "a floor"}), rule("deny", {"/cmd": {"glob": "rm *"}}))}
    parents = (policy(rule({"tag": "defer", "reason": "a file"})),)
    judged = verdict(policy(rule({"tag": "defer", "reason": "a file"})), floors, "$X", parents=parents)
    assert (judged.reason, judged.rule) == (f"a file; a floor; {UNCLEAR_REASON}", parents[0].rules[0])


def test_a_doubt_is_told_also_where_the_call_would_wait_without_it() -> None:
    deferring = policy(rule("defer", {"/cmd": {"glob": "curl *"}}), default="runSync")
    allowing = policy(rule("runSync", {"/cmd": {"glob": "curl *"}}), default="defer")
    denying = policy(rule("deny", {"/cmd": {"glob": "curl *"}}), default="defer")
    told = [verdict(file, command="$X").reason for file in (deferring, allowing, denying)]
    assert told == [DEFERS_REASON, NOT_PLAIN_REASON, UNCLEAR_REASON]


def test_the_policy_hash_covers_all_that_has_a_say() -> None:
    one = agent((tool("t"),), FILE)
    laws = [
        Laws(),
        Laws((Floor(USER, FILE),)),
        Laws((Floor(WORKSPACE, FILE),)),
        Laws((Floor(USER, FILE, "broken"),)),
        Laws(remembered=(remembered("runSync"),)),
        Laws(remembered=(remembered("runSync", "session"),)),
        Laws(parents=(FILE,)),
        Laws(parents=(None,)),
    ]
    assert len({policy_hash(one, law) for law in laws}) == len(laws)
    assert policy_hash(one, Laws()) == one.policy_hash
    used = remembered("runSync").model_copy(update={"uses": 7})
    assert policy_hash(one, Laws(remembered=(used,))) == policy_hash(one, laws[4])


DISPOSITIONS = st.sampled_from(["runSync", "runAsync", "defer", "runIsolated", "deny"])
MATCHES = st.sampled_from([None, {"/cmd": {"glob": "ls*"}}, {"/cmd": {"glob": "rm *"}}, {"/cmd": "ls"}, {"/x": 1}])
RULES = st.builds(rule, DISPOSITIONS, MATCHES, st.sampled_from(["*", "t", "u"]))
POLICIES = st.builds(
    lambda rules, default: policy(*rules, default=default), st.lists(RULES, max_size=3), st.none() | DISPOSITIONS
)
REMEMBERED = st.builds(
    lambda disposition, scope, match: remembered(disposition, scope, match),
    DISPOSITIONS,
    st.sampled_from(["session", "workspace", "user"]),
    MATCHES,
)
FLOORS = st.builds(Floor, st.sampled_from([USER, WORKSPACE]), POLICIES, st.sampled_from([None, None, "broken"]))
LAWS = st.builds(
    lambda floors, remembered, parents: Laws(tuple(floors), tuple(remembered), tuple(parents), plainly),
    st.lists(FLOORS, max_size=2),
    st.lists(REMEMBERED, max_size=2),
    st.lists(st.none() | POLICIES, max_size=2),
)
COMMANDS = st.sampled_from(["ls", "ls -l", "rm x", "ls; rm x", "$X", "true"])
SHELL = tool("t", command="cmd")


def how_strict(file: Policy | None, laws: Laws, command: str, one: Tool = SHELL) -> int:
    return strictness(judge(agent((one,), file), one, {"cmd": command}, laws).disposition)


@given(st.none() | POLICIES, LAWS, FLOORS, COMMANDS)
def test_a_floor_never_loosens(file: Policy | None, laws: Laws, floor: Floor, command: str) -> None:
    more = replace(laws, floors=(*laws.floors, floor))
    assert how_strict(file, more, command) >= how_strict(file, laws, command)


@given(st.none() | POLICIES, LAWS, st.none() | POLICIES, COMMANDS)
def test_a_parent_never_loosens(file: Policy | None, laws: Laws, parent: Policy | None, command: str) -> None:
    more = replace(laws, parents=(*laws.parents, parent))
    assert how_strict(file, more, command) >= max(
        how_strict(file, laws, command), how_strict(parent, Laws(read=plainly), command)
    )


@given(st.none() | POLICIES, LAWS, REMEMBERED, COMMANDS)
def test_a_remembered_rule_loosens_nothing_but_a_defer(
    file: Policy | None, laws: Laws, rule: Rule, command: str
) -> None:
    alone, without = how_strict(file, Laws(read=plainly), command), how_strict(file, laws, command)
    found = how_strict(file, replace(laws, remembered=(rule, *laws.remembered)), command)
    if strictness(Defer()) != alone:
        assert found >= alone
    if without == strictness(Deny()):
        assert found == without
