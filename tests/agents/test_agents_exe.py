"""Agent files of agents-exe load as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from abey.runtime.agents.loading import load_text

REAL = Path(__file__).parents[3] / "shared" / "data" / "agents"
CONTENTS: dict[str, Any] = {
    "slug": "helper",
    "flavor": "OpenAIv1",
    "modelUrl": "http://localhost:11434/v1",
    "modelName": "tiny",
    "apiKeyId": "local",
    "announce": "A helper",
    "systemPrompt": ["one", "two"],
    "toolDirectory": "tools",
    "bashToolboxes": [
        {"tag": "FileSystemDirectory", "contents": {"Path": "more", "BasenameFilter": ".sh"}},
        {"tag": "SingleTool", "contents": {"Path": "x"}},
    ],
    "mcpServers": [{"tag": "McpSimpleBinary", "contents": {"Name": "web", "executable": "npx", "Args": ["web-mcp"]}}],
    "extraAgents": [{"slug": "other", "path": "other.json"}],
    "executionMode": "Asynchronous",
    "maxConcurrency": 2,
    "toolCallPolicyConfig": {
        "default": {"tag": "defer", "reason": "ask"},
        "rules": [
            {"tool": "bash_ls", "disposition": {"tag": "runAsync", "attachSeconds": 3}},
            {"tool": "mcp_web_*", "disposition": {"tag": "runIsolated", "spec": {"tag": "docker", "image": "i"}}},
        ],
    },
    "skillSources": ["s"],
    "builtinToolboxes": None,
    "--draft": 1,
}
OURS = {
    "slug": "helper",
    "description": "A helper",
    "systemPrompt": ["one", "two"],
    "model": {"provider": "openai", "name": "tiny", "baseUrl": "http://localhost:11434/v1", "apiKey": {"id": "local"}},
    "executionMode": "Asynchronous",
    "limits": {"maxConcurrency": 2},
    "toolCallPolicy": {
        "default": {"tag": "defer", "reason": "ask"},
        "rules": [
            {"tool": "bash_ls", "disposition": {"tag": "runAsync"}},
            {"tool": "mcp_web_*", "disposition": {"tag": "runIsolated"}},
        ],
    },
    "tools": [
        {"kind": "executables", "directory": "tools"},
        {"kind": "executables", "directory": "more"},
        {"kind": "executables", "directory": "x"},
        {"kind": "mcp", "name": "web", "command": ["npx", "web-mcp"]},
        {"kind": "agent", "name": "io_prompt_agent_other", "agent": "other", "path": "other.json"},
    ],
}


def wrapped(contents: dict[str, Any]) -> dict[str, Any]:
    return {"tag": "OpenAIAgentDescription", "contents": contents}


@pytest.mark.parametrize("value", [CONTENTS, wrapped(CONTENTS)], ids=["bare", "wrapped"])
def test_every_field_becomes_ours_or_is_named_in_a_warning(value: dict[str, Any]) -> None:
    loaded = load_text(json.dumps(value))
    left_out = [one.message.split("`")[1] for one in loaded.findings if "of agents-exe" in one.message]
    assert (loaded.raw, loaded.config is not None, left_out) == (
        OURS,
        True,
        ["BasenameFilter", "attachSeconds", "spec", "skillSources"],
    )


def test_an_error_stands_where_the_file_has_it() -> None:
    loaded = load_text(json.dumps(wrapped({**CONTENTS, "modelName": 5, "flavor": "Zzz", "slug": "A"})))
    assert [(loaded.text[one.start : one.end], one.message) for one in loaded.errors] == [
        ('"A"', "a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
        ('"Zzz"', "unknown provider `Zzz`; known: openai, openai-responses, anthropic, scripted"),
    ]


def test_our_own_form_may_be_wrapped_too() -> None:
    ours = {"slug": "a", "model": {"provider": "scripted", "script": []}, "x": 1}
    loaded = load_text(json.dumps(wrapped(ours)))
    assert [(loaded.text[one.start : one.end], one.code) for one in loaded.findings] == [('"x"', "unknown-field")]


@pytest.mark.parametrize(
    ("flavor", "provider"),
    [("OpenAIv1", "openai"), ("mistral-v1", "openai"), ("KimiV1", "openai"), ("claude-v1", "anthropic")],
)
def test_a_flavor_names_a_provider(flavor: str, provider: str) -> None:
    config = load_text(json.dumps({**CONTENTS, "flavor": flavor})).config
    assert config is not None and config.model.provider == provider


def test_real_files_load_without_an_error() -> None:
    if not REAL.is_dir():
        pytest.skip("the collection of real agent files is not here")
    files = [path for path in sorted(REAL.glob("*.json")) if path.name != "agents-exe.cfg.json"]
    errors = {path.name: load_text(path.read_text(), path).errors for path in files}
    assert errors == {path.name: () for path in files} != {}
