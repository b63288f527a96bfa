"""From a loaded file to the agent of the core: tools, hashes, limits."""

from dataclasses import replace
from typing import Any

import pytest

from abey.core.agent import Agent, Limits, Tool
from abey.protocol.base import sha256_hex
from abey.protocol.policy import Policy, RunSync
from abey.runtime.agents.loading import load_value
from abey.runtime.agents.resolve import env_names, resolve

MODEL = {"provider": "scripted", "script": [{"text": "hi"}]}
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
ECHO = {"kind": "command", "name": "echo", "parameters": PARAMETERS, "argv": ["echo", "{x}"]}


def agent(*tools: dict[str, Any], **members: Any) -> Agent:
    loaded = load_value({"slug": "a", "model": MODEL, "tools": [*tools], **members})
    assert loaded.config is not None, loaded.findings
    return resolve(loaded.config, loaded.raw)


def test_an_agent_is_what_its_file_says() -> None:
    ask = {"kind": "external", "name": "ask", "description": "asks", "parameters": {}}
    raw = {
        "slug": "a",
        "model": MODEL,
        "tools": [{**ECHO, "timeoutSeconds": 3, "idempotent": True, "env": ["TOKEN"]}, ask],
        "systemPrompt": ["one", "two"],
        "limits": {"maxConcurrency": 2, "maxSteps": 7, "toolTimeoutSeconds": 9, "stopGraceSeconds": 1},
        "executionMode": "synchronous",
        "toolCallPolicy": {"default": "runSync"},
    }
    loaded = load_value(raw)
    assert loaded.config is not None
    echo = {
        "kind": "command",
        "name": "echo",
        "parameters": PARAMETERS,
        "argv": ["echo", "{x}"],
        "env": ["TOKEN"],
        "timeoutSeconds": 3.0,
    }
    external = {"kind": "external", "name": "ask", "parameters": {"type": "object"}}
    assert resolve(loaded.config, loaded.raw) == Agent(
        slug="a",
        config=raw,
        config_hash=sha256_hex(raw),
        policy_hash=sha256_hex({"default": "runSync", "rules": []}),
        system_prompt="one\ntwo",
        tools={
            "echo": Tool("echo", "", PARAMETERS, echo, sha256_hex(echo), idempotent=True, timeout_seconds=3.0),
            "ask": Tool(
                "ask", "asks", {"type": "object"}, external, sha256_hex(external), runnable=False, timeout_seconds=9.0
            ),
        },
        policy=Policy(default=RunSync()),
        limits=Limits(max_concurrency=2, max_steps=7, stop_grace_seconds=1.0),
        model=loaded.config.model,
        synchronous=True,
    )


def test_tools_that_cannot_run_yet_are_not_offered() -> None:
    later: list[dict[str, Any]] = [
        {"kind": "mcp", "name": "fs", "command": ["fs"]},
        {"kind": "executables", "directory": "/t"},
    ]
    assert list(agent(ECHO, *later).tools) == ["echo"]


@pytest.mark.parametrize(
    ("argv", "shell", "command"),
    [
        (["bash", "-lc", "{x}"], None, "x"),
        (["/bin/sh", "-c", "{x}"], None, "x"),
        (["env", "zsh", "-e", "-c", "cd /; {x}"], None, "x"),
        (["dash", "-ec", "{x}"], None, "x"),
        (["sh", "-c", 'echo "$1"', "sh", "{x}"], None, None),
        (["fish", "-c", "{x}"], None, "x"),
        (["sh", "{x}"], None, None),
        (["echo", "-c", "{x}"], None, None),
        (["run", "{x}"], "x", "x"),
    ],
)
def test_a_tool_is_shell_like_if_a_shell_parses_its_argument(
    argv: list[str], shell: str | None, command: str | None
) -> None:
    said = {"shell": shell} if shell else {}
    tool = agent({**ECHO, "argv": argv, **said}).tools["echo"]
    assert (tool.command, tool.destructive) == (command, command is not None)


@pytest.mark.parametrize("destructive", [True, False])
def test_the_author_has_the_last_word_on_what_is_destructive(destructive: bool) -> None:
    tool = agent({**ECHO, "argv": ["sh", "-c", "{x}"], "destructive": destructive}).tools["echo"]
    assert tool.destructive is destructive


@pytest.mark.parametrize(
    "change",
    [{"argv": ["echo", "-n", "{x}"]}, {"timeoutSeconds": 5}, {"env": ["TOKEN"]}, {"parameters": {"type": "object"}}],
)
def test_the_tool_hash_changes_with_what_would_run(change: dict[str, Any]) -> None:
    assert agent(ECHO).tools["echo"].hash != agent({**ECHO, **change}).tools["echo"].hash


@pytest.mark.parametrize("change", [{"description": "other"}, {"idempotent": True}, {"destructive": True}])
def test_the_tool_hash_keeps_with_what_is_only_said(change: dict[str, Any]) -> None:
    assert agent(ECHO).tools["echo"].hash == agent({**ECHO, **change}).tools["echo"].hash


def test_the_policy_hash_is_of_the_ordered_rules_not_of_their_spelling() -> None:
    rules: list[dict[str, Any]] = [
        {"tool": "echo", "disposition": {"tag": "defer"}},
        {"tool": "e*", "disposition": "deny"},
    ]
    short = [{**rules[0], "disposition": "defer"}, rules[1]]
    hashes = [agent(ECHO, toolCallPolicy={"rules": some}).policy_hash for some in (rules, short, rules[::-1])]
    assert (hashes[0] == hashes[1], hashes[0] == hashes[2]) == (True, False)


def test_an_agent_comes_back_whole_from_its_config() -> None:
    made = agent(ECHO, toolCallPolicy={"rules": [{"tool": "echo", "match": {"/x": None}, "disposition": "deny"}]})
    loaded = load_value(made.config)
    assert loaded.config is not None
    assert resolve(loaded.config, loaded.raw) == replace(made)


def test_the_variables_a_file_names_are_those_of_its_key_and_its_tools() -> None:
    model = {"provider": "openai", "name": "x", "apiKey": {"env": "KEY"}}
    loaded = load_value({"slug": "a", "model": model, "tools": [{**ECHO, "env": ["TOKEN", "KEY"]}]})
    assert loaded.config is not None and env_names(loaded.config) == ("KEY", "TOKEN")
