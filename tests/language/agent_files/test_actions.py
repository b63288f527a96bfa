"""What can be done about a place, and what the file is like afterwards."""

import json

import pytest
from lsprotocol import types as lsp
from support.agent_documents import BARE, World, asker, at_cursor, changed

from abey.runtime.agents.loading import load_text

HEAD = '"slug": "a", "model": {"provider": "scripted", "script": []}'
X = '{"kind": "external", "name": "x"}'
Y = '{"kind": "external", "name": "y", "parameters": {"properties": {"count": {}}}}'


async def actions(marked: str, who: lsp.ClientCapabilities = BARE) -> dict[str, lsp.CodeAction]:
    """By title, without the one that is always there."""
    doc, offset = at_cursor(marked)
    found = await World().language().code_actions(doc, offset, offset, asker(who))
    return {one.title: one for one in found if one.title != "Start session"}


async def after(marked: str, title: str) -> str:
    doc, _ = at_cursor(marked)
    return changed(doc, (await actions(marked))[title])


FIXES: list[tuple[str, str, str]] = [
    (f'{{{HEAD}, "to|olz": []}}', "Change to `tools`", f'{{{HEAD}, "tools": []}}'),
    (f'{{{HEAD}, "to|olz": []}}', "Remove this field", f"{{{HEAD}}}"),
    (f'{{"to|olz": [], {HEAD}}}', "Remove this field", f"{{{HEAD}}}"),
    (f'{{\r\n  "to|olz": [],\r\n  {HEAD}\r\n}}', "Remove this field", f"{{\r\n  {HEAD}\r\n}}"),
    (f'{{\n  {HEAD},\n  "to|olz": [],\n}}', "Remove this field", f"{{\n  {HEAD}\n}}"),
    (f'{{\n  {HEAD}, // mine\n  "to|olz": []\n}}', "Remove this field", f"{{\n  {HEAD} // mine\n}}"),
    (f'{{{HEAD}, // mine\n  "to|olz": []}}', "Remove this field", f"{{{HEAD} // mine\n}}"),
    (f'{{{HEAD}, /* mine */ "to|olz": []}}', "Remove this field", f"{{{HEAD} /* mine */}}"),
    (f'{{{HEAD}, "limits": {{"x|": 1}}}}', "Remove this field", f'{{{HEAD}, "limits": {{}}}}'),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"default": "run|sync"}}}}',
        "Change to `runSync`",
        f'{{{HEAD}, "toolCallPolicy": {{"default": "runSync"}}}}',
    ),
    (
        '{"slug": "a", "model": {"provider": "ope|nia", "name": "x"}}',
        "Change to `openai`",
        '{"slug": "a", "model": {"provider": "openai", "name": "x"}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "xx|", "disposition": "deny"}}]}}, "tools": [{X}]}}',
        "Change to `x`",
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "x", "disposition": "deny"}}]}}, "tools": [{X}]}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "no|ne", "disposition": "deny"}}]}}, "tools": [{X}]}}',
        "Remove this rule, which never decides",
        f'{{{HEAD}, "toolCallPolicy": {{"rules": []}}, "tools": [{X}]}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [\n  {{"tool": "*", "disposition": "deny"}},\n'
        f'  {{"tool": "|x", "disposition": "defer"}}\n]}}, "tools": [{X}]}}',
        "Remove this rule, which never decides",
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [\n  {{"tool": "*", "disposition": "deny"}}\n]}}, "tools": [{X}]}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "y", "match": {{"/cuont|": 1}}, '
        f'"disposition": "deny"}}]}}, "tools": [{Y}]}}',
        "Change to `/count`",
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "y", "match": {{"/count": 1}}, "disposition": "deny"}}]}}, '
        f'"tools": [{Y}]}}',
    ),
    (
        f'{{"slug": "b", {HEAD.replace("slug", "sl|ug")}}}',
        "Remove the earlier one, which does not count",
        f"{{{HEAD}}}",
    ),
]


@pytest.mark.parametrize(("marked", "title", "expected"), FIXES, ids=[f"{one[1]}: {one[0]}" for one in FIXES])
async def test_a_fix_leaves_the_rest_as_it_is(marked: str, title: str, expected: str) -> None:
    assert await after(marked, title) == expected


async def test_a_fix_is_for_its_finding() -> None:
    fix = (await actions(f'{{{HEAD}, "to|olz": []}}'))["Change to `tools`"]
    assert [one.code for one in fix.diagnostics or ()] == ["unknown-field"]
    assert (fix.kind, fix.is_preferred) == (lsp.CodeActionKind.QuickFix, True)


async def test_nothing_is_fixed_elsewhere() -> None:
    assert await actions(f'{{{HEAD}, |"limits": {{}}, "toolz": []}}') == {}


# keys

MODEL = '"provider": "openai", "name": "x"'
KEYS: list[tuple[str, str, str]] = [
    (MODEL, '"apiKey": "sk-|canary"', '"apiKey": {"env": "OPENAI_API_KEY"}'),
    (MODEL.replace("openai", "anthropic"), '"apiKey": "sk-|canary"', '"apiKey": {"env": "ANTHROPIC_API_KEY"}'),
    (f'{MODEL}, "baseUrl": "http://h/v1"', '"apiKey": "sk-|canary"', '"apiKey": {"env": "ABEY_MY_AGENT_KEY"}'),
    (MODEL, '"apiKey": {"env": "sk-|canary"}', '"apiKey": {"env": "OPENAI_API_KEY"}'),
    (MODEL, '"baseUrl": "http://me:|canary@h/v1"', '"baseUrl": "http://h/v1"'),
]


@pytest.mark.parametrize(("model", "key", "expected"), KEYS, ids=[f"{one[0]} {one[1]}" for one in KEYS])
async def test_a_key_goes_out_of_the_file_and_stands_nowhere_else(model: str, key: str, expected: str) -> None:
    marked = f'{{"slug": "my-agent", "model": {{{model}, {key}}}}}'
    (action,) = [one for one in (await actions(marked)).values() if one.kind == lsp.CodeActionKind.QuickFix]
    doc, _ = at_cursor(marked)
    assert changed(doc, action) == f'{{"slug": "my-agent", "model": {{{model}, {expected}}}}}'
    assert "canary" not in repr(action)


# rules for a tool

RULE = '{"tool": "x", "disposition": "defer"}'
RULES: list[tuple[str, str]] = [
    (f'{{{HEAD}, "tools": [|{X}]}}', f'{{{HEAD}, "toolCallPolicy": {{"rules": [{RULE}]}}, "tools": [{X}]}}'),
    (
        f'{{\n\t{HEAD},\n\t"tools": [|{X}]\n}}',
        f'{{\n\t{HEAD},\n\t"toolCallPolicy": {{\n\t\t"rules": [\n\t\t\t{RULE}\n\t\t]\n\t}},\n\t"tools": [{X}]\n}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"default": "deny"}}, "tools": [|{X}]}}',
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{RULE}], "default": "deny"}}, "tools": [{X}]}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicyConfig": {{"rules": []}}, "tools": [|{X}]}}',
        f'{{{HEAD}, "toolCallPolicyConfig": {{"rules": [{RULE}]}}, "tools": [{X}]}}',
    ),
    (
        f'{{\r\n  {HEAD},\r\n  "toolCallPolicy": {{"rules": []}},\r\n  "tools": [|{X}]\r\n}}',
        f'{{\r\n  {HEAD},\r\n  "toolCallPolicy": {{"rules": [\r\n    {RULE}\r\n  ]}},\r\n  "tools": [{X}]\r\n}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [\n    {{"tool": "*", "disposition": "runSync"}}\n]}}, '
        f'"tools": [|{X}]}}',
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [\n    {RULE},\n    {{"tool": "*", "disposition": "runSync"}}\n]}}, '
        f'"tools": [{X}]}}',
    ),
    (
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{{"tool": "x", "disposition": {{"tag": "deny"}}}}]}}, '
        f'"tools": [|{X}]}}',
        f'{{{HEAD}, "toolCallPolicy": {{"rules": [{RULE}]}}, "tools": [{X}]}}',
    ),
]


@pytest.mark.parametrize(("marked", "expected"), RULES, ids=[one[0] for one in RULES])
async def test_a_rule_for_a_tool_is_written_where_it_decides(marked: str, expected: str) -> None:
    assert await after(marked, "Ask before `x` runs") == expected
    assert load_text(expected).errors == ()


COMMAND = '{"kind": "command", "name": "x", "argv": ["e"], "parameters": {"properties": {"p": {}}}}'
ASK, DENY, RUN, AWAY = (
    "Ask before `x` runs",
    "Deny `x`",
    "Run `x` without asking",
    "Run `x` in the background without asking",
)
OFFERED: list[tuple[str, str, list[str]]] = [
    (COMMAND, "", [ASK, DENY, RUN, AWAY]),
    (COMMAND, '{"tool": "x", "disposition": "deny"}', [ASK, RUN, AWAY]),
    (COMMAND, '{"tool": "x", "disposition": {"tag": "defer", "reason": "why"}, "match": {}}', [DENY, RUN, AWAY]),
    (COMMAND, '{"tool": "*", "disposition": "deny"}', [DENY]),
    (COMMAND, '{"tool": "x", "match": {"/p": 1}, "disposition": "deny"}', [ASK, DENY, RUN, AWAY]),
    (X, "", [ASK, DENY]),
]


@pytest.mark.parametrize(("tool", "rules", "offered"), OFFERED, ids=[f"{one[0]} {one[1]}" for one in OFFERED])
async def test_only_a_rule_is_offered_that_says_something_new_and_then_decides(
    tool: str, rules: str, offered: list[str]
) -> None:
    marked = f'{{{HEAD}, "toolCallPolicy": {{"rules": [{rules}]}}, "tools": [|{tool}]}}'
    assert list(await actions(marked)) == offered


async def test_a_rule_that_others_come_before_is_written_before_them() -> None:
    rules = '{"tool": "*", "disposition": "runSync"}, {"tool": "x", "disposition": "runSync"}'
    marked = f'{{{HEAD}, "toolCallPolicy": {{"rules": [{rules}]}}, "tools": [|{COMMAND}]}}'
    expected = f'{{{HEAD}, "toolCallPolicy": {{"rules": [{RULE}, {rules}]}}, "tools": [{COMMAND}]}}'
    assert await after(marked, ASK) == expected


# files of agents-exe

FOREIGN = (
    '{"tag": "OpenAIAgentDescription", "contents": {"slug": "a", "flavor": "ClaudeV1", "modelName": "m", '
    '"apiKeyId": "main", "announce": "Helps", "systemPrompt": ["One", "two"], "strange": 1}}'
)


async def test_a_file_of_agents_exe_becomes_one_of_ours() -> None:
    text = await after(f"|{FOREIGN}", "Convert to an agent file of abey (1 fields that are not supported are left out)")
    assert json.loads(text) == {
        "slug": "a",
        "description": "Helps",
        "systemPrompt": ["One", "two"],
        "model": {"provider": "anthropic", "name": "m", "apiKey": {"id": "main"}},
    }
    assert list(json.loads(text)) == ["slug", "description", "systemPrompt", "model"]
    assert load_text(text).config == load_text(FOREIGN).config


async def test_a_password_in_an_address_does_not_move_into_the_new_text() -> None:
    foreign = FOREIGN.replace('"modelName"', '"modelUrl": "http://me:canary@h/v1", "modelName"')
    found = await actions(f"|{foreign}")
    assert "canary" not in repr(found)
    text = await after(f"|{foreign}", "Convert to an agent file of abey (1 fields that are not supported are left out)")
    assert json.loads(text)["model"]["baseUrl"] == "http://h/v1"


async def test_a_password_in_an_address_of_agents_exe_goes_out_of_the_file() -> None:
    foreign = FOREIGN.replace('"modelName"', '"modelUrl": "http://me:can|ary@h/v1", "modelName"')
    assert await after(foreign, "Take the user and password out of the address") == foreign.replace("me:can|ary@", "")


async def test_a_file_of_ours_is_not_converted() -> None:
    assert await actions(f"|{{{HEAD}}}") == {}


# what is always there, and the form of a change


async def test_a_session_can_be_started_from_anywhere_in_a_file() -> None:
    doc, offset = at_cursor('{"slug": |')
    (start,) = await World().language().code_actions(doc, offset, offset, asker())
    assert (start.title, start.kind) == ("Start session", "source.abey.start")
    assert start.command == lsp.Command("Start session", "abey.start", arguments=[{"agentFile": str(doc.path)}])


async def test_a_change_names_the_version_where_the_client_can_tell_versions() -> None:
    doc, offset = at_cursor(f'{{{HEAD}, "to|olz": []}}')
    found = await World().language().code_actions(doc, offset, offset, asker())
    edit = lsp.TextEdit(doc.text.range(63, 70), '"tools"')
    named = lsp.OptionalVersionedTextDocumentIdentifier(uri=doc.uri, version=7)
    assert found[0].edit == lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(named, [edit])])
    (bare, *_) = await World().language().code_actions(doc, offset, offset, asker(BARE))
    assert bare.edit == lsp.WorkspaceEdit(changes={doc.uri: [edit]})
