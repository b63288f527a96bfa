"""Rules about the files of a workspace: however a path is spelled, a rule is about the file, and doubt defers."""

from typing import Any

import pytest
from support.world import agent

from abey.core.agent import Tool
from abey.core.paths import PATH_REASON
from abey.core.policy import judge
from abey.protocol.policy import Policy

WRITE = Tool("write_file", "", {}, {"kind": "workspace", "name": "write_file"}, "h")
RULES = [
    {"tool": "write_file", "match": {"/path": "docs/secret"}, "disposition": {"tag": "deny"}},
    {"tool": "write_file", "match": {"/path": {"glob": "docs/*"}}, "disposition": "runSync"},
]


def verdict(path: Any, rules: Any = RULES, default: str = "defer") -> tuple[str, str | None]:
    policy = Policy.model_validate({"default": default, "rules": rules})
    judgement = judge(agent((WRITE,), policy), WRITE, {"path": path})
    return judgement.disposition.tag, judgement.reason


@pytest.mark.parametrize(
    ("path", "tag"),
    [
        ("docs/a", "runSync"),
        ("./docs//a/", "runSync"),
        ("docs/./a/b", "runSync"),
        ("src/a", "defer"),
        ("docs", "defer"),
        ("docs/secret", "deny"),
        ("./docs/secret", "deny"),
        ("docs//secret/.", "deny"),
    ],
)
def test_a_path_is_judged_without_what_does_not_count_in_it(path: str, tag: str) -> None:
    assert verdict(path)[0] == tag


@pytest.mark.parametrize(
    "path", ["docs/../.env", "../w/docs/secret", "/w/docs/secret", "/w/docs/a", "docs/x/../secret"]
)
@pytest.mark.parametrize("default", ["defer", "runSync"])
def test_a_path_that_could_be_any_file_waits_for_somebody(path: str, default: str) -> None:
    assert verdict(path, default=default) == ("defer", PATH_REASON)


def test_a_rule_that_names_just_this_spelling_counts() -> None:
    rules = [{"tool": "write_file", "match": {"/path": "/w/a"}, "disposition": "runSync"}]
    assert verdict("/w/a", rules)[0] == "runSync"
    assert verdict("/w/b", rules)[0] == "defer"


def test_without_a_rule_about_paths_every_spelling_is_the_same() -> None:
    assert verdict("/w/../a", [{"tool": "write_*", "disposition": "runSync"}]) == ("runSync", None)
    assert verdict(1)[0] == "defer"
