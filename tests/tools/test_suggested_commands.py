"""What is suggested of a shell command is one plain command to who reads shell commands, too: a suggestion that would
be refused is none (agent-file.md, Shell-like tools)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.world import tool

from abey.core.agent import Agent, Tool
from abey.core.policy import Laws, judge
from abey.core.suggesting import LOOKING, is_plainly_one, suggestions
from abey.protocol.policy import Defer, Policy, Rule, RunSync
from abey.protocol.transcript import Pending
from abey.runtime.tools.shell import read_command

SHELL = replace(
    tool("sh", command="command"),
    definition={"kind": "command", "name": "sh", "argv": ["bash", "-lc", "{command}"]},
    parameters={"type": "object", "properties": {"command": {"type": "string"}}},
)
WORDS = (
    "ls",
    "git",
    "log",
    "-5",
    "a.txt",
    "--x=1",
    "'a b'",
    '"c d"',
    "./x",
    "sudo",
    "env",
    "X=1",
    "-",
    "@",
    "%1",
    "12:3",
)
LAWS = Laws(read=read_command)


def offered(command: str, shell: Tool = SHELL) -> tuple[Rule, ...]:
    call = Pending(
        token="t", session_id="s1", turn_id="t1", call_id="c1", kind="approval", tool="sh", title="sh",
        arguments={"command": command}, arguments_hash="h", editable=True, cwd="/w", reason="", created_at="T",
    )  # fmt: skip
    return suggestions(call, shell, "/w")


def verdict(rule: Rule, command: str) -> Any:
    asks = Agent("a", {}, "c", "p", policy=Policy(default=Defer()))
    return judge(asks, SHELL, {"command": command}, replace(LAWS, remembered=(rule,))).disposition


@settings(max_examples=200)
@given(command=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join))
def test_every_suggestion_lets_its_command_run(command: str) -> None:
    for rule in offered(command):
        assert verdict(rule, command) == RunSync()


@settings(max_examples=200)
@given(command=st.text("abls -=/.'\"$`;&|<>(){}*?!#~\\\n\t", max_size=12))
def test_what_is_plain_here_is_plain_to_the_parser(command: str) -> None:
    assert not is_plainly_one(command) or read_command(SHELL, {"command": command}).plain


@pytest.mark.parametrize("words", sorted(LOOKING), ids=" ".join)
def test_a_beginning_lets_more_words_run_and_nothing_behind_them(words: tuple[str, ...]) -> None:
    beginning = " ".join(words)
    like = [rule for rule in offered(f"{beginning} -a") if "glob" in str(rule.match)]
    assert [verdict(like[0], command) for command in (beginning, f"{beginning} -b c")] == [RunSync(), RunSync()]
    for more in ("; id", " | sh", " > f", "x", " `id`", " && id", "\nid"):
        assert verdict(like[0], beginning + more) != RunSync()
