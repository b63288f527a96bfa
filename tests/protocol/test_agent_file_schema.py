"""The JSON schema of agent files takes what the daemon takes, and says of every field what it means."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import meta, validator_for
from pydantic import AliasChoices, BaseModel
from support.pages import DOCS, ROOT, blocks

from abey.protocol import policy
from abey.protocol.agent_file_schema import agent_file_schema, field_words, models
from abey.protocol.agent_file_words import FIELDS, PARAMETERS, WORDS
from abey.protocol.config import AnyToolKind, HttpModel, ScriptedModel
from abey.runtime.agents.jsonc import parse
from abey.runtime.agents.loading import load_value
from abey.runtime.agents.shapes import shape_facts

SCHEMA = agent_file_schema()
VALIDATOR = validator_for(SCHEMA)

EXAMPLES = {
    **{block.name: block.text for block in blocks(DOCS / "agent-file.md", "json agent")},
    **{str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (DOCS / "examples").glob("*.json")},
}
FOREIGN = [
    {"tag": "OpenAIAgentDescription", "contents": {"slug": "a", "flavor": "OpenAIv1", "whatever": 1}},
    {"slug": "a", "modelName": "x", "apiKeyId": "k"},
]
WHOLE: dict[str, Any] = {
    "$schema": "https://example.org/agent-file.schema.json",
    "slug": "a",
    "description": "b",
    "systemPrompt": ["c", "d"],
    "model": {
        "provider": "openai",
        "name": "x",
        "baseUrl": None,
        "apiKey": {"env": "K"},
        "parameters": {"temperature": 0, "odd": []},
        "prices": {"input": 1, "output": 2.5, "cachedInput": 0, "date": "2026-01-01"},
    },
    "executionMode": "Synchronous",
    "toolCallPolicy": {
        "default": {"tag": "defer", "reason": "r", "expireSeconds": 5},
        "rules": [
            {"tool": "t", "match": {"/a": {"glob": "x*"}, "": 1}, "disposition": "deny", "serial": True},
            {
                "tool": "*",
                "disposition": {
                    "tag": "decorate",
                    "decorators": [{"tag": "timeout", "seconds": 3}, {"tag": "truncate", "maxBytes": 9}],
                    "inner": {"tag": "runIsolated", "network": False},
                },
                "expireSeconds": None,
            },
        ],
    },
    "tools": [
        {"kind": "command", "name": "t", "argv": ["t"], "env": ["A"], "parameters": {"x": 1}, "timeoutSeconds": 1.5},
        {"kind": "executables", "directory": "tools/"},
        {"kind": "mcp", "name": "m", "command": ["m"]},
        {"kind": "mcp", "name": "n", "url": "http://h", "command": []},
        {"kind": "http", "name": "h", "url": "http://h/{p}", "method": "POST"},
        {"kind": "workspace", "allow": ["read_file"]},
        {"kind": "agent", "name": "r", "agent": "r"},
        {"kind": "external", "name": "e", "destructive": None, "idempotent": True, "shell": "x"},
    ],
    "limits": {"maxConcurrency": 1, "maxSteps": 2, "toolTimeoutSeconds": 3, "stopGraceSeconds": 0, "maxTokens": 5},
    "outputSchema": {"type": "object"},
    "compaction": {"atTokens": 9, "keepTokens": 3},
}
SCRIPTED: dict[str, Any] = {
    "slug": "s",
    "model": {
        "provider": "scripted",
        "script": [
            {
                "text": "a",
                "thinking": "b",
                "calls": [{"tool": "t", "arguments": {}, "id": "i"}],
                "finishReason": "stop",
            },
            {"calls": [{"tool": "t", "rawArguments": "{"}], "usage": {"input": 1, "output": 2}, "delayMs": 0},
            {
                "error": {"code": "timeout", "message": "m", "retryAfterMs": 1},
                "cutAfter": 3,
                "echo": True,
                "chunkMs": 1,
            },
        ],
        "loop": True,
        "prices": {"input": 0, "output": 0},
    },
    "toolCallPolicyConfig": {"default": "runSync"},
}


def test_it_is_a_schema_of_the_dialect_that_it_names() -> None:
    meta.validate(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=list(EXAMPLES))
def test_it_takes_every_example(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(parse(text).value)] == []


@pytest.mark.parametrize("value", FOREIGN, ids=["wrapped", "bare"])
def test_it_leaves_files_of_agents_exe_alone(value: Any) -> None:
    assert VALIDATOR.is_valid(value)


REFUSED: list[Any] = [
    {"slug": "a"},
    {**WHOLE, "toolz": []},
    {**WHOLE, "slug": "No Slug"},
    {**WHOLE, "toolCallPolicyConfig": {}},
    {**WHOLE, "executionMode": "sync"},
    {**WHOLE, "description": None},
    {**WHOLE, "model": {"provider": "openai"}},
    {**WHOLE, "model": {"provider": "scripted", "script": [], "baseUrl": "x"}},
    {**WHOLE, "model": {**WHOLE["model"], "apiKey": {}}},
    {**WHOLE, "model": {**WHOLE["model"], "apiKey": {"env": "A", "file": "b"}}},
    {**WHOLE, "tools": [{"kind": "mcp", "name": "m"}]},
    {**WHOLE, "tools": [{"kind": "mcp", "name": "m", "command": ["m"], "url": "u"}]},
    {**WHOLE, "toolCallPolicy": {"rules": [{"tool": "t", "match": {"a": 1}, "disposition": "deny"}]}},
    {**WHOLE, "toolCallPolicy": {"default": "decorate"}},
    {**WHOLE, "toolCallPolicy": {"default": {"reason": "x"}}},
    {**WHOLE, "toolCallPolicy": {"default": {"tag": "decorate", "decorators": [{"seconds": 3}], "inner": "deny"}}},
    {
        **SCRIPTED,
        "model": {"provider": "scripted", "script": [{"calls": [{"tool": "t", "arguments": 1, "rawArguments": ""}]}]},
    },
    [],
]


@pytest.mark.parametrize("value", REFUSED, ids=[json.dumps(value)[-90:] for value in REFUSED])
def test_it_refuses_what_the_daemon_refuses(value: Any) -> None:
    assert (VALIDATOR.is_valid(value), load_value(value).config) == (False, None)


def test_a_script_may_be_a_file_and_a_key_in_clear_is_a_warning_of_the_daemon_alone() -> None:
    values = [
        {**WHOLE, "model": {**WHOLE["model"], "apiKey": "sk-1"}},
        {**SCRIPTED, "model": {"provider": "scripted", "script": "a.json"}},
    ]
    assert [VALIDATOR.is_valid(value) for value in values] == [True, True]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


LEAVES = [None, True, 0, -1, 7, 2.5, "", "x", "deny", "decorate", "command", "scripted", [], ["x"], {}, {"tag": "deny"}]
WORDS_OF_FIELDS = sorted(
    {name for fields in FIELDS.values() for name in fields} | {"odd", "/a", "tag", "system_prompt"}
)


@st.composite
def nearly_agents(draw: st.DrawFn) -> Any:
    """An agent with a few values replaced, taken away or put in."""
    value = copy.deepcopy(draw(st.sampled_from([WHOLE, SCRIPTED])))
    for _ in range(draw(st.integers(0, 2))):
        path = draw(st.sampled_from([path for path in places(value) if path]))
        holder = value
        for step in path[:-1]:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(LEAVES)))
            case "remove":
                del holder[path[-1]]
            case "add" if isinstance(holder, dict):
                holder[draw(st.sampled_from(WORDS_OF_FIELDS))] = copy.deepcopy(draw(st.sampled_from(LEAVES)))
    return value


@given(value=nearly_agents())
def test_the_schema_and_the_daemon_agree_on_every_shape(value: Any) -> None:
    bare = {name: found for name, found in value.items() if name != "$schema"}
    if "$schema" in value and not isinstance(value["$schema"], str):
        return
    model = bare.get("model")
    if isinstance(model, dict):  # what the loader takes care of before the shape counts
        bare["model"] = {
            name: [] if name == "script" and isinstance(found, str) else found
            for name, found in model.items()
            if not (name == "apiKey" and isinstance(found, str) and model.get("provider") != "scripted")
        }
    facts = shape_facts(bare)[1]
    assert (VALIDATOR.is_valid(value), [fact.message for fact in facts]) == (
        not facts,
        [fact.message for fact in facts],
    )


# words


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.__name__)
def test_every_field_has_words_and_no_others_have(model: type[BaseModel]) -> None:
    names = {
        str(name)
        for field in model.model_fields.values()
        for name in (
            field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.alias]
        )
    }
    assert (names - set(field_words(model)), set(FIELDS.get(model.__name__, {})) - names) == (set(), set())


def test_words_are_said_of_models_that_there_are() -> None:
    assert set(FIELDS) - {"Wire", "AnyTool"} <= {model.__name__ for model in models()}


def test_every_kind_disposition_decorator_and_provider_has_words() -> None:
    tagged = [*get_args(AnyToolKind), *get_args(policy.AnyDisposition), *get_args(get_args(policy.Decorator)[0])]
    tags = {
        word
        for kind in tagged
        for tag in ("kind", "tag")
        if tag in kind.model_fields
        for word in get_args(kind.model_fields[tag].annotation)
    }
    providers = {
        word for kind in (HttpModel, ScriptedModel) for word in get_args(kind.model_fields["provider"].annotation)
    }
    assert tags | providers <= set(WORDS)
    assert set(PARAMETERS) == providers - {"scripted"}


def test_a_field_is_described_in_the_schema() -> None:
    fields = SCHEMA["$defs"]["Limits"]["properties"]
    assert fields["maxSteps"]["description"] == FIELDS["Limits"]["maxSteps"]


def test_the_package_holds_the_schema() -> None:
    packaged = json.loads(Path(ROOT, "cli/abey_cli/agent-file.schema.json").read_text(encoding="utf-8"))
    del packaged["$comment"]
    assert packaged == SCHEMA
