"""What is said of the rules of a policy: those that match nothing, come too late, or ask for what cannot be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.core.policy import judge
from abey.runtime.agents.findings import Finding
from abey.runtime.agents.loading import load_value
from abey.runtime.agents.reach import MOST_RULES, may_hold
from abey.runtime.agents.resolve import resolve

PLAIN: dict[str, Any] = {"slug": "plain", "model": {"provider": "scripted", "script": []}}
SHELL = {"kind": "command", "name": "sh", "argv": ["sh", "-c", "{command}"]}
MCP = {"kind": "mcp", "name": "fs", "command": ["fs"]}


def external(*names: str, **parameters: Any) -> list[dict[str, Any]]:
    return [{"kind": "external", "name": name, "parameters": parameters} for name in names]


def rule(tool: str, disposition: str = "defer", **match: Any) -> dict[str, Any]:
    wanted = {"match": {f"/{name}": value for name, value in match.items()}} if match else {}
    return {"tool": tool, **wanted, "disposition": disposition}


def findings(tools: list[dict[str, Any]], *rules: dict[str, Any]) -> list[Finding]:
    loaded = load_value({**PLAIN, "tools": tools, "toolCallPolicy": {"rules": list(rules)}})
    return [one for one in loaded.findings if one.code not in ("unsupported", "runs-everything")]


def said(tools: list[dict[str, Any]], *rules: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one.code, one.pointer.removeprefix("/toolCallPolicy/rules"), one.message) for one in findings(tools, *rules)
    ]


SHADOWED: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = [
    (external("a"), [rule("a"), rule("a", "runSync")], "rule 1 takes"),
    (external("a"), [rule("a"), rule("a", "runSync", p=1)], "rule 1 takes"),
    (external("a"), [rule("*"), rule("a", "runSync")], "rule 1 takes"),
    (external("a", "b"), [rule("a"), rule("b"), rule("*", "runSync")], "rules 1, 2 take"),
    (external("a"), [rule("a", "runSync"), rule("*", "deny"), rule("b*", "defer")], ""),
    (external("a"), [rule("a", p=[1, 2]), rule("a", "runSync", p=2, q=3)], "rule 1 takes"),
    (external("a"), [rule("a", p={"glob": "x*"}), rule("a", "runSync", p="xy")], "rule 1 takes"),
    (external("a"), [rule("a", p={"glob": "x*"}), rule("a", "runSync", p={"glob": "xy*"})], "rule 1 takes"),
    (external("a"), [rule("a", "deny"), rule("a", "deny", p=1)], "rule 1 takes"),
    ([MCP], [rule("mcp_*"), rule("mcp_fs_*", "runSync")], "rule 1 takes"),
]


@pytest.mark.parametrize(("tools", "rules", "takes"), SHADOWED, ids=[f"{one[2]} {one[1]}" for one in SHADOWED])
def test_a_rule_whose_calls_others_take_never_decides(
    tools: list[dict[str, Any]], rules: list[dict[str, Any]], takes: str
) -> None:
    found = [one[2] for one in said(tools, *rules) if one[0] == "shadowed-rule" and one[1] == f"/{len(rules) - 1}"]
    assert found == ([f"this rule never decides: {takes} every call that it matches"] if takes else [])


def test_a_deny_shadows_what_stands_before_it() -> None:
    assert said(external("a"), rule("a", "runSync"), rule("*", "deny")) == [
        ("shadowed-rule", "/0", "this rule never decides: rule 2 takes every call that it matches")
    ]


DECIDES: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    (external("a", "b"), [rule("a"), rule("*", "runSync")]),
    (external("a"), [rule("a", p=1), rule("a", "runSync")]),
    (external("a"), [rule("a", p=1), rule("a", "runSync", p=2)]),
    (external("a"), [rule("a", p=[1, 2]), rule("a", "runSync", p=[2, 3])]),
    (external("a"), [rule("a", p=True), rule("a", "runSync", p=1)]),
    (external("a"), [rule("a"), rule("a", "deny")]),
    ([MCP], [rule("mcp_fs_read"), rule("mcp_fs_*", "runSync")]),
    ([*external("a"), MCP], [rule("a"), rule("*", "runSync")]),
    ([SHELL], [rule("sh", command={"glob": "git*"}), rule("sh", "runSync", command="git log")]),
]


@pytest.mark.parametrize(("tools", "rules"), DECIDES, ids=[f"{one[1]}" for one in DECIDES])
def test_a_rule_that_may_decide_is_left_alone(tools: list[dict[str, Any]], rules: list[dict[str, Any]]) -> None:
    assert [one for one in said(tools, *rules) if one[0] == "shadowed-rule" and one[1] == f"/{len(rules) - 1}"] == []


def test_of_very_many_rules_nobody_compares_each_with_each() -> None:
    assert said(external("a"), *[rule("a")] * (MOST_RULES + 1)) == []


def test_a_wrong_name_leads_to_the_right_one() -> None:
    (found,) = findings(external("git_push"), rule("gitpush"))
    assert (found.code, found.message, found.replacement) == (
        "unmatched-rule",
        "no tool of this agent has a name like `gitpush`; did you mean `git_push`",
        "git_push",
    )


def test_what_only_a_server_could_tell_is_not_checked() -> None:
    (found,) = findings([MCP, {"kind": "executables", "directory": "/t"}], rule("mcp_fs_read", p=1))
    assert (found.severity, found.code, found.pointer, found.message) == (
        "information",
        "not-checked",
        "/toolCallPolicy/rules/0/tool",
        "not checked: the tools of `fs` have not been listed yet",
    )


PROPERTIES = {
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "word": {"enum": ["on", "off"]},
        "args": {"type": "array", "items": {"type": "string"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "deep": {"type": "object", "properties": {"a/b": {}}, "additionalProperties": False},
        "free": {"type": "object"},
        "any": {"anyOf": [{"type": "string"}]},
    }
}
HOLDS: list[tuple[str, Any, bool]] = [
    ("", {}, True),
    ("/n", 3, True),
    ("/n", 0, False),
    ("/n", "3", False),
    ("/n", ["3", 3], True),
    ("/n", [], False),
    ("/n", {"glob": "3*"}, False),
    ("/n/x", 1, False),
    ("/m", 1, True),
    ("/word", "on", True),
    ("/word", "onn", False),
    ("/word", {"glob": "o*"}, True),
    ("/word", {"glob": "x*"}, False),
    ("/args/0", "push", True),
    ("/args/0", 1, False),
    ("/args/x", "push", False),
    ("/pair/0", "x", True),
    ("/pair/1", "x", False),
    ("/deep/a~1b", 1, True),
    ("/deep/c", 1, False),
    ("/free/x/y", 1, True),
    ("/any/x", 1, True),
]


@pytest.mark.parametrize(("pointer", "wanted", "expected"), HOLDS, ids=[f"{one[0]}={one[1]}" for one in HOLDS])
def test_what_arguments_of_a_schema_can_have(pointer: str, wanted: Any, expected: bool) -> None:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    assert may_hold(PROPERTIES, steps, wanted) is expected
    found = said(external("a", **PROPERTIES), {"tool": "a", "match": {pointer: wanted}, "disposition": "deny"})
    message = f"this never matches: by its parameters, `a` cannot have this at `{pointer}`"
    assert [one[2] for one in found if one[0] == "impossible-match"] == ([] if expected else [message])


@pytest.mark.parametrize("schema", [{}, True, {"$ref": "#/x"}, {"properties": 5}, {"type": 5}])
def test_a_schema_that_says_little_or_nonsense_lets_everything_be(schema: Any) -> None:
    assert may_hold({"properties": {"x": schema}}, ["x"], "y") is True


def test_an_argument_that_no_schema_names_may_be_there_all_the_same() -> None:
    parameters = {"properties": {"count": {"properties": {"deep": {}}}, "more": {}}}
    found = findings(
        external("a", **parameters), rule("a", cont=1), {**rule("a"), "match": {"/cuont/deep": 1, "/xyz": 1}}
    )
    assert [(one.code, one.message, one.replacement) for one in found] == [
        ("unnamed-argument", "the parameters of `a` name no argument `/cont`; did you mean `/count`", "/count"),
        (
            "unnamed-argument",
            "the parameters of `a` name no argument `/cuont/deep`; did you mean `/count/deep`",
            "/count/deep",
        ),
        ("unnamed-argument", "the parameters of `a` name no argument `/xyz`", None),
    ]


def test_a_match_that_one_of_several_tools_can_have_is_possible() -> None:
    tools = [*external("a", properties={"p": {}}), *external("b", properties={"q": {}})]
    assert said(tools, {"tool": "*", "match": {"/q": 1}, "disposition": "deny"}) == []


def test_a_parameter_of_a_shell_command_that_there_is_not_is_told() -> None:
    tool = {**external("a", properties={"command": {}})[0], "kind": "command", "argv": ["a"], "shell": "comand"}
    (found,) = findings([tool])
    assert (found.code, found.pointer, found.replacement) == ("placeholder", "/tools/0/shell", "command")


NAMES = ["a", "ab", "b"]
PATTERNS = ["a", "a*", "*b", "*", "ab"]
VALUES: list[Any] = [1, "x", "xy", [1, "x"], {"glob": "x*"}, {"glob": "*"}, True]


@st.composite
def rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    def one() -> dict[str, Any]:
        match = {f"/{name}": draw(st.sampled_from(VALUES)) for name in draw(st.sets(st.sampled_from("pq")))}
        return {
            "tool": draw(st.sampled_from(PATTERNS)),
            "match": match,
            "disposition": draw(st.sampled_from(["runSync", "defer", "deny"])),
        }

    return [one() for _ in range(draw(st.integers(1, 4)))]


@given(
    found=rules(),
    arguments=st.fixed_dictionaries(
        {}, optional={"p": st.sampled_from([1, "x", "xy", True, "z"]), "q": st.sampled_from([1, "x", "xz"])}
    ),
)
def test_a_rule_that_is_said_never_to_decide_decides_no_call(
    found: list[dict[str, Any]], arguments: dict[str, Any]
) -> None:
    loaded = load_value({**PLAIN, "tools": external(*NAMES), "toolCallPolicy": {"rules": found}})
    assert loaded.config is not None
    agent = resolve(loaded.config, loaded.raw)
    assert agent.policy is not None
    dead = [one.pointer for one in loaded.findings if one.code == "shadowed-rule"]
    decided = [judge(agent, tool, arguments).rule for tool in agent.tools.values()]
    places = [
        f"/toolCallPolicy/rules/{at}"
        for at, one in enumerate(agent.policy.rules)
        if any(one is rule for rule in decided)
    ]
    assert [place for place in places if place in dead] == []


GLOBS = [
    ("git log*", None),
    ("git log", None),
    ("*", None),
    ("git log* | head", "git logx | head"),
    ("env git log", "env git log"),
    ("git log $HOME", "git log $HOME"),
]


@pytest.mark.parametrize(("glob", "strange"), GLOBS)
def test_a_rule_that_can_let_no_command_run_says_so(glob: str, strange: str | None) -> None:
    found = [one for one in said([SHELL], rule("sh", "runSync", command={"glob": glob})) if one[0] == "never-plain"]
    message = f"this lets nothing run: `{strange}` is not one plain command"
    assert found == ([("never-plain", "/0/match/~1command", message)] if strange else [])
    assert not [one for one in said([SHELL], rule("sh", "deny", command={"glob": glob})) if one[0] == "never-plain"]


def test_a_rule_for_a_shell_that_gets_more_than_the_command_lets_nothing_run() -> None:
    eager = {**SHELL, "argv": ["sh", "-c", "cd x && {command}"]}
    found = [one[2] for one in said([eager], rule("sh", "runSync", command="ls")) if one[0] == "never-plain"]
    assert found == ["this lets nothing run: `sh` hands its shell more than the command"]


def test_a_rule_that_lets_plain_commands_run_leaves_the_others_to_later_rules() -> None:
    rules = [rule("sh", "runSync", command={"glob": "ls*"}), rule("sh", "defer", command={"glob": "ls*"})]
    assert [one for one in said([SHELL], *rules) if one[0] == "shadowed-rule"] == []
    assert [one[0] for one in said([SHELL], *rules[::-1])] == ["shadowed-rule"]


HTTP = {"kind": "http", "name": "get", "method": "GET", "url": "https://x.example/"}
BOXED_RULES: list[tuple[list[dict[str, Any]], str, str]] = [
    ([HTTP], "get", "http"),
    ([HTTP, MCP], "*", "http, mcp"),
    ([MCP], "mcp_fs_*", "mcp"),
    ([HTTP, SHELL], "*", ""),
    ([SHELL], "sh", ""),
    (external("a"), "a", ""),
]


@pytest.mark.parametrize(("tools", "name", "kinds"), BOXED_RULES, ids=[f"{one[1]} {one[2]}" for one in BOXED_RULES])
def test_a_rule_that_isolates_what_is_no_program_lets_nothing_run(
    tools: list[dict[str, Any]], name: str, kinds: str
) -> None:
    message = f"this lets nothing run: tools of kind {kinds} are no programs that a sandbox could be put around"
    around: Any = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 1}], "inner": "runIsolated"}
    for disposition in ("runIsolated", around):
        found = [one for one in said(tools, rule(name, disposition)) if one[0] == "never-isolated"]
        assert found == ([("never-isolated", "/0/disposition", message)] if kinds else [])
