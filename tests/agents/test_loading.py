"""What is said about the text of an agent file: every finding, where it stands, how bad it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from abey.protocol.config import ModelCode
from abey.protocol.queries import Diagnostic, Position, Range
from abey.runtime.agents.findings import Fact
from abey.runtime.agents.loading import Loaded, load_text, load_value
from abey.shared.kinds import MODEL_CODES

PLAIN: dict[str, Any] = {"slug": "plain", "model": {"provider": "scripted", "script": []}}
SHELL = {"kind": "command", "name": "sh", "argv": ["sh", "-c", "{command}"]}


def agent(**members: Any) -> dict[str, Any]:
    return {**PLAIN, **members}


def said(loaded: Loaded) -> list[tuple[str, str, str, str]]:
    """(severity, code, the text it stands on, message)"""
    return [(one.severity, one.code, loaded.text[one.start : one.end], one.message) for one in loaded.findings]


def facts(value: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [
        (severity, code, json.loads(at) if at != "{" else at, message)
        for severity, code, at, message in said(load_text(json.dumps(value)))
    ]


def test_a_plain_agent_leaves_nothing_to_say() -> None:
    loaded = load_text(json.dumps(agent(tools=[SHELL])))
    assert (loaded.findings, loaded.config is not None, loaded.raw) == ((), True, agent(tools=[SHELL]))


def test_the_model_codes_of_a_script_are_those_of_the_protocol() -> None:
    assert ModelCode.__args__ == MODEL_CODES  # type: ignore[attr-defined] # typing hides what a Literal holds


ERRORS: list[tuple[dict[str, Any], str, Any, str]] = [
    (
        agent(sytemPrompt="x"),
        "unknown-field",
        "sytemPrompt",
        "unknown field `sytemPrompt`; did you mean `systemPrompt`",
    ),
    (
        agent(system_prompt="x"),
        "unknown-field",
        "system_prompt",
        "unknown field `system_prompt`; did you mean `systemPrompt`",
    ),
    (
        agent(outputSchema={"type": "object", "properties": {"city": {"type": "word"}}}),
        "output-schema",
        "word",
        "the schema is broken at /properties/city/type: "
        "\"word\" is not valid under any of the schemas listed in the 'anyOf' keyword",
    ),
    (agent(limits={"maxStep": 3}), "unknown-field", "maxStep", "unknown field `maxStep`; did you mean `maxSteps`"),
    (
        agent(tools=[{**SHELL, "timeOut": 3}]),
        "unknown-field",
        "timeOut",
        "unknown field `timeOut`; did you mean `timeoutSeconds`",
    ),
    (
        agent(toolCallPolicy={"rules": [{"tool": "*", "dispositon": "deny", "disposition": "deny"}]}),
        "unknown-field",
        "dispositon",
        "unknown field `dispositon`; did you mean `disposition`",
    ),
    (
        agent(toolCallPolicyConfig={"defualt": "deny"}),
        "unknown-field",
        "defualt",
        "unknown field `defualt`; did you mean `default`",
    ),
    (agent(limits={"maxSteps": "3"}), "wrong-type", "3", "expected a whole number, not a string"),
    (agent(limits={"maxConcurrency": 0}), "invalid-value", 0, "the value should be greater than 0"),
    (agent(tools=5), "wrong-type", 5, "expected a list, not 5"),
    (agent(tools=[None]), "wrong-type", None, "expected an object, not null"),
    (agent(systemPrompt=[1]), "wrong-type", [1], "expected a string or a list of strings"),
    (agent(slug="No Slug"), "invalid-slug", "No Slug", "a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
    (agent(slug="a" * 65), "invalid-slug", "a" * 65, "a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
    (agent(slug="a\n"), "invalid-slug", "a\n", "a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
    (
        agent(executionMode="sync"),
        "invalid-value",
        "sync",
        "unknown executionMode `sync`; known: synchronous, asynchronous",
    ),
    ({"slug": "a"}, "missing-field", "{", "`model` is missing"),
    (agent(model={"provider": "openai"}), "missing-field", "model", "`name` is missing"),
    (
        agent(model={"provider": "opena", "name": "x"}),
        "invalid-value",
        "opena",
        "unknown provider `opena`; known: openai, openai-responses, anthropic, scripted; did you mean `openai`",
    ),
    (
        agent(model={"provider": "openai", "name": "x", "baseUrl": "localhost:11434"}),
        "invalid-value",
        "localhost:11434",
        "baseUrl is no http or https URL with a host",
    ),
    (
        agent(model={"provider": "anthropic", "name": "x", "apiKey": {"env": "A", "file": "b"}}),
        "invalid-value",
        {"env": "A", "file": "b"},
        "needs exactly one of env, file, keyring, id",
    ),
    (
        agent(model={"provider": "anthropic", "name": "x", "apiKey": {"env": "sk-1"}}),
        "invalid-value",
        "sk-1",
        "the name of an environment variable is expected, not its value",
    ),
    (
        agent(tools=[{"kind": "http", "name": "fetch", "url": "ftp://localhost/{path}"}]),
        "invalid-value",
        "ftp://localhost/{path}",
        "the URL of a tool begins with http:// or https:// and a host",
    ),
    (
        agent(tools=[{"kind": "comand", "name": "x"}]),
        "invalid-value",
        "comand",
        "unknown kind of tool `comand`; known: command, executables, mcp, http, workspace, agent, external; "
        "did you mean `command`",
    ),
    (agent(tools=[SHELL, {**SHELL, "argv": ["x"]}]), "duplicate-tool", "sh", "two tools have the name `sh`"),
    (
        agent(tools=[{**SHELL, "name": "search"}, {"kind": "workspace", "allow": ["read_file", "search"]}]),
        "duplicate-tool",
        "search",
        "two tools have the name `search`",
    ),
    (
        agent(toolCallPolicy={"default": "runsync"}),
        "unknown-disposition",
        "runsync",
        "unknown disposition or decorator `runsync`; known: runSync, runAsync, defer, runIsolated, deny, decorate; "
        "did you mean `runSync`",
    ),
    (
        agent(
            toolCallPolicy={
                "rules": [{"tool": "*", "disposition": {"tag": "decorate", "decorators": [], "inner": {"tag": "ask"}}}]
            }
        ),
        "unknown-disposition",
        "ask",
        "unknown disposition or decorator `ask`; known: runSync, runAsync, defer, runIsolated, deny, decorate",
    ),
    (
        agent(
            toolCallPolicy={"default": {"tag": "decorate", "decorators": [{"tag": "retry"}], "inner": "deny"}},
        ),
        "unknown-disposition",
        "retry",
        "unknown disposition or decorator `retry`; known: timeout, retries, cache, label, truncate; "
        "did you mean `retries`",
    ),
    (
        agent(model={"provider": "scripted", "script": [{"calls": [{"tol": "x", "tool": "y"}]}]}),
        "unknown-field",
        "tol",
        "unknown field `tol`; did you mean `tool`",
    ),
    (
        agent(compaction={"atTokens": 9, "keepTokens": 9}),
        "compaction",
        9,
        "`keepTokens` must be less than `atTokens`, 9: else nothing is left to sum up",
    ),
]


@pytest.mark.parametrize(("value", "code", "at", "message"), ERRORS, ids=[error[3][:60] for error in ERRORS])
def test_an_error_makes_the_agent_invalid(value: dict[str, Any], code: str, at: Any, message: str) -> None:
    assert facts(value) == [("error", code, at, message)]
    assert load_value(value).config is None


WARNINGS: list[tuple[dict[str, Any], str, str, Any, str]] = [
    (
        agent(tools=[SHELL], toolCallPolicy={"rules": [{"tool": "bash_*", "disposition": "defer"}]}),
        "warning",
        "unmatched-rule",
        "bash_*",
        "no tool of this agent has a name like `bash_*`",
    ),
    (
        agent(
            tools=[
                {
                    "kind": "http",
                    "name": "fetch",
                    "url": "http://localhost/{pth}",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                }
            ]
        ),
        "warning",
        "placeholder",
        "http://localhost/{pth}",
        "`{pth}` is asked for as it stands: the parameters have no property `pth`",
    ),
    (
        agent(limits={"maxCost": 5.0}),
        "warning",
        "no-prices",
        "maxCost",
        "without a price, here or in prices.json, a cost is known, and limited, only if the provider says it",
    ),
    (
        agent(model={"provider": "openai", "name": "x", "parameters": {"temperature": 0, "messages": []}}),
        "warning",
        "unsupported",
        "messages",
        "`messages` is not a parameter: it is made of the session, and this one is left out",
    ),
    (
        agent(model={"provider": "openai", "name": "x", "baseUrl": "http://me:pw@localhost/v1"}),
        "warning",
        "key-in-clear",
        "http://me:pw@localhost/v1",
        "the user and password in baseUrl are not used; name a key with `apiKey`",
    ),
    (
        agent(tools=[{**SHELL, "parameters": {"type": "object", "properties": {"c": {"type": "strng"}}}}]),
        "warning",
        "broken-schema",
        {"type": "object", "properties": {"c": {"type": "strng"}}},
        "the tool's schema is broken at /properties/c/type: "
        "\"strng\" is not valid under any of the schemas listed in the 'anyOf' keyword",
    ),
    (
        agent(tools=[{**SHELL, "argv": ["x", "{y}"], "parameters": {"properties": {"z": {}}}}]),
        "warning",
        "placeholder",
        "{y}",
        "`{y}` is passed as it stands: the parameters have no property `y`",
    ),
    (
        agent(tools=[{**SHELL, "argv": ["bash", "-lc", "cd {dir}; {command}"]}]),
        "warning",
        "placeholder",
        ["bash", "-lc", "cd {dir}; {command}"],
        "a shell parses `dir`, `command` together; rules read only `dir` as a command",
    ),
    (
        agent(tools=[{**SHELL, "argv": ["ssh", "host", "{command}"]}]),
        "warning",
        "placeholder",
        "{command}",
        '`command` is parsed by a shell: say `"shell": "command"`, or rules read it as any other text',
    ),
    (
        agent(tools=[{**SHELL, "name": "sh it"}]),
        "warning",
        "tool-name",
        "sh it",
        "most providers refuse a tool's name that is not 1 to 64 of A-Z a-z 0-9 _ -",
    ),
    (
        agent(tools=[SHELL], toolCallPolicy={"default": "runSync"}),
        "hint",
        "runs-everything",
        "runSync",
        "every command that `sh` is asked for runs, unless another rule defers or denies it",
    ),
    (
        agent(tools=[SHELL], toolCallPolicy={"default": "deny", "rules": [{"tool": "s*", "disposition": "runAsync"}]}),
        "hint",
        "runs-everything",
        "runAsync",
        "every command that `sh` is asked for runs, unless another rule defers or denies it",
    ),
]


@pytest.mark.parametrize(("value", "severity", "code", "at", "message"), WARNINGS, ids=[w[4][:60] for w in WARNINGS])
def test_a_warning_or_a_hint_leaves_the_agent_valid(
    value: dict[str, Any], severity: str, code: str, at: Any, message: str
) -> None:
    assert ((severity, code, at, message) in facts(value), load_value(value).config is not None) == (True, True)


def test_a_rule_may_name_what_a_directory_or_a_server_will_offer() -> None:
    rules = [{"tool": tool, "disposition": "defer"} for tool in ("bash_x", "*", "mcp_fs_read", "mcp_*", "search")]
    tools = [
        {"kind": "executables", "directory": "/t"},
        {"kind": "mcp", "name": "fs", "url": "http://localhost/mcp"},
        {"kind": "workspace", "allow": ["search"]},
    ]
    found = load_value(agent(tools=tools, toolCallPolicy={"rules": rules})).findings
    assert [one.message for one in found if one.code == "unmatched-rule"] == []


def test_a_key_in_clear_is_a_warning_and_appears_nowhere() -> None:
    canary = "sk-canary-8d1f"
    loaded = load_text(json.dumps(agent(model={"provider": "openai", "name": "x", "apiKey": canary})))
    assert said(loaded)[0] == (
        "warning",
        "key-in-clear",
        f'"{canary}"',
        "a key in clear is not used; name where it is: {env}, {file}, {id} or {keyring}",
    )
    assert canary not in f"{loaded.raw}{loaded.config}{loaded.diagnostics()}"


def test_a_password_in_an_address_is_kept_nowhere() -> None:
    url = "https://me:canary-77@models.example.org/v1"
    loaded = load_text(json.dumps(agent(model={"provider": "openai", "name": "x", "baseUrl": url})))
    assert loaded.raw["model"]["baseUrl"] == "https://models.example.org/v1"
    assert "canary" not in f"{loaded.raw}{loaded.config}{loaded.diagnostics()}"


def test_what_is_known_of_this_machine_is_said_at_its_place() -> None:
    text = json.dumps(agent(model={"provider": "openai", "name": "x", "apiKey": {"env": "MINE"}}))
    fact = Fact("/model/apiKey", "warning", "missing-key", "no MINE", on_key=True)
    assert said(load_text(text, also=lambda config: [fact])) == [("warning", "missing-key", '"apiKey"', "no MINE")]


def test_both_spellings_of_the_execution_mode_and_of_the_policy_are_read() -> None:
    policy = {"default": {"tag": "defer", "reason": "ask"}, "rules": []}
    old = load_value(agent(executionMode="Synchronous", toolCallPolicyConfig=policy)).config
    new = load_value(agent(executionMode="synchronous", toolCallPolicy=policy)).config
    assert old == new is not None


def test_both_spellings_of_the_policy_at_once_are_an_error() -> None:
    loaded = load_value(agent(toolCallPolicy={}, toolCallPolicyConfig={}))
    assert [message for _, _, _, message in said(loaded) if "another name" in message] == [
        "`toolCallPolicyConfig` is there under another name, too; keep one of them"
    ]


def test_what_would_silently_mean_nothing_is_an_error() -> None:
    script = [{"calls": [{"tool": "t", "arguments": {}, "rawArguments": "x"}]}]
    rule = {"tool": "t", "match": {"command": "rm"}, "disposition": {"tag": "defer", "expireSeconds": 10**12}}
    loaded = load_value(agent(model={"provider": "scripted", "script": script}, toolCallPolicy={"rules": [rule]}))
    assert [message for severity, _, _, message in said(loaded) if severity == "error"] == [
        "a call has arguments or rawArguments, not both",
        "a match is by JSON pointer: /command",
        "the value should be less than or equal to 3162240000",
    ]


def test_a_syntax_error_is_an_error_at_its_place() -> None:
    loaded = load_text('{\n  "slug": "é😀", oops\n}')
    assert loaded.diagnostics() == (
        Diagnostic(
            range=Range(start=Position(line=1, character=17), end=Position(line=1, character=18)),
            severity=1,
            code="syntax",
            message="expected a key in double quotes",
        ),
    )


def test_positions_count_utf16_code_units_and_every_kind_of_line_break() -> None:
    text = '{"slug": "a",\r\n"model": {"provider": "scripted", "script": []},\r"description": "😀", "x": 1}'
    assert [one.range for one in load_text(text).diagnostics()] == [
        Range(start=Position(line=2, character=21), end=Position(line=2, character=24))
    ]


def test_a_key_that_stands_twice_is_a_warning() -> None:
    loaded = load_text('{"slug": "a", "slug": "b", "model": {"provider": "scripted", "script": []}}')
    assert said(loaded) == [("warning", "duplicate-key", '"slug"', "the key stands twice; the last one counts")]


def test_a_hostile_name_cannot_break_the_line() -> None:
    (found,) = load_value(agent(**{"a\n\x1b[31m\u202e" + "x" * 200: 1})).findings
    assert found.message == r"unknown field `a\n\x1b[31m\u202e" + "x" * 63 + "… (137 more characters)`"


def test_a_script_is_read_from_its_file_and_becomes_part_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text('[{"text": "hi"}, // one\n]')
    loaded = load_text(json.dumps(agent(model={"provider": "scripted", "script": "answers.json"})), tmp_path / "a.json")
    assert (loaded.findings, loaded.raw) == (
        (),
        agent(model={"provider": "scripted", "script": [{"text": "hi"}]}),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the script cannot be read: {path}: there is no such file"),
        (b"[{]", "the script cannot be read: {path}:1:3: expected a key in double quotes"),
        (b"\xff", "the script cannot be read: {path}: not UTF-8: byte 0 is 0xff"),
        (b'[{"txt": ""}]', "{path} at /0/txt: unknown field `txt`; did you mean `text`"),
        (b"{}", "expected a list, not an object"),
    ],
)
def test_a_script_that_cannot_be_read_is_an_error_at_its_name(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "answers.json"
    if content is not None:
        path.write_bytes(content)
    loaded = load_text(json.dumps(agent(model={"provider": "scripted", "script": "answers.json"})), tmp_path / "a.json")
    assert [(one.severity, loaded.text[one.start : one.end], one.message) for one in loaded.findings] == [
        ("error", '"answers.json"', message.format(path=path))
    ]


def test_paths_are_absolute_in_what_was_loaded(tmp_path: Path) -> None:
    value = agent(
        model={"provider": "openai", "name": "x", "apiKey": {"file": "key"}},
        tools=[{"kind": "executables", "directory": "tools"}, {"kind": "executables", "directory": "~/tools"}],
    )
    assert load_value(value, tmp_path).raw == agent(
        model={"provider": "openai", "name": "x", "apiKey": {"file": f"{tmp_path}/key"}},
        tools=[
            {"kind": "executables", "directory": f"{tmp_path}/tools"},
            {"kind": "executables", "directory": "~/tools"},
        ],
    )


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null"])
def test_what_is_no_object_is_no_agent(text: str) -> None:
    assert [one.code for one in load_text(text).findings] == ["wrong-type"]


def test_nulls_inside_a_schema_are_kept() -> None:
    schema = {"type": "object", "properties": {"x": {"enum": [None, 1], "default": None}}}
    loaded = load_value(agent(tools=[{**SHELL, "parameters": schema}]))
    assert loaded.config is not None and loaded.config.wire()["tools"][0]["parameters"] == schema
