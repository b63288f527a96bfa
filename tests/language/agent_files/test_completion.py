"""What may be written where the cursor (`|`) is, and what the file is like when it was chosen."""

import pytest
from lsprotocol import types as lsp
from support.agent_documents import BARE, World, applied, asker, at_cursor

ENV = {"PATH": "/bin", "WORK_TOKEN": "canary-4f", "HOME": "/"}
LOG = '{"kind": "command", "name": "log", "description": "Says", "parameters": {"properties": {"n": {"enum": [1, 2]}}}}'


async def labels(marked: str) -> list[str]:
    doc, offset = at_cursor(marked)
    return [item.label for item in await World().language().completion(doc, offset, asker(env=ENV))]


async def chosen(marked: str, label: str, who: lsp.ClientCapabilities = BARE) -> str:
    """The text after the item of that label was taken."""
    doc, offset = at_cursor(marked)
    found = await World().language().completion(doc, offset, asker(who, ENV))
    return applied(doc, [next(item.text_edit for item in found if item.label == label)])


FIELDS = ["slug", "model", "description", "systemPrompt", "executionMode", "toolCallPolicy", "tools", "limits"]
FIELDS += ["outputSchema", "compaction", "$schema"]
OFFERED: list[tuple[str, list[str]]] = [
    ("{|}", FIELDS),
    ('{"slug": "a", |}', [name for name in FIELDS if name != "slug"]),
    ('{"toolCallPolicyConfig": {}, "|"}', [name for name in FIELDS if name != "toolCallPolicy"]),
    (
        '{"limits": {"maxSteps": 3, "|',
        ["maxConcurrency", "toolTimeoutSeconds", "stopGraceSeconds", "maxTokens", "maxCost"],
    ),
    ('{"model": {"provider": "scripted", |}}', ["script", "name", "loop", "prices"]),
    ('{"model": {"provider": |}}', ["openai", "openai-responses", "anthropic", "scripted"]),
    ('{"model": {"provider": "opena|", "name": "x"}}', ["openai", "openai-responses", "anthropic", "scripted"]),
    (
        '{"model": {"provider": "anthropic", "parameters": {"top_k": 1, |}}}',
        ["temperature", "top_p", "max_tokens", "thinking", "stop_sequences", "service_tier"],
    ),
    ('{"model": {"apiKey": {|}}}', ["env", "file", "keyring", "id"]),
    ('{"model": {"apiKey": {"env": "|"}}}', ["WORK_TOKEN", "HOME", "PATH"]),
    ('{"tools": [{"kind": "command", "env": [|]}]}', ["WORK_TOKEN", "HOME", "PATH"]),
    (
        '{"tools": [{"kind": "|"}]}',
        ["command", "executables", "mcp", "http", "workspace", "agent", "external"],
    ),
    ('{"tools": [{"kind": "workspace", "allow": ["|', ["read_file", "list_files", "search", "write_file", "edit_file"]),
    (
        '{"tools": [{"kind": "agent", |}]}',
        ["name", "agent", *["destructive", "idempotent", "timeoutSeconds", "shell", "description", "path"]],
    ),
    ('{"tools": [{"kind": "http", "method": |}]}', ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
    ('{"tools": [{"idempotent": |}]}', ["true", "false"]),
    (
        '{"tools": [|]}',
        [f"{{ {kind} }}" for kind in ["command", "executables", "mcp", "http", "workspace", "agent", "external"]],
    ),
    (
        '{"toolCallPolicy": {"rules": [{"tool": "|"}]}, "tools": [' + LOG + ', {"kind": "mcp", "name": "fs"}, '
        '{"kind": "executables"}, {"kind": "workspace", "allow": ["search"]}]}',
        ["log", "mcp_fs_*", "bash_*", "search", "*"],
    ),
    ('{"toolCallPolicy": {"rules": [|]}}', ["{ tool, disposition }"]),
    ('{"toolCallPolicy": {"rules": [{|}]}}', ["tool", "disposition", "match", "serial", "expireSeconds"]),
    ('{"toolCallPolicy": {"rules": [{"tool": "l*", "match": {|}}]}, "tools": [' + LOG + "]}", ["/n"]),
    (
        '{"toolCallPolicy": {"rules": [{"tool": "log", "match": {"/n": |}}]}, "tools": [' + LOG + "]}",
        ["1", "2", '{"glob": "*"}'],
    ),
    (
        '{"toolCallPolicy": {"default": |}}',
        ["runSync", "runAsync", "defer", "runIsolated", "deny"]
        + [f"{{ {tag} }}" for tag in ("defer", "runIsolated", "deny", "decorate")],
    ),
    ('{"toolCallPolicy": {"default": "|"}}', ["runSync", "runAsync", "defer", "runIsolated", "deny"]),
    (
        '{"toolCallPolicy": {"default": {"tag": "|"}}}',
        ["runSync", "runAsync", "defer", "runIsolated", "deny", "decorate"],
    ),
    ('{"toolCallPolicy": {"default": {"tag": "deny", |}}}', ["reason"]),
    (
        '{"toolCallPolicy": {"default": {"tag": "decorate", "decorators": [{"tag": |}]}}}',
        ["timeout", "retries", "cache", "label", "truncate"],
    ),
    ('{"tools": [{"kind": "command", "argv": ["|"], "parameters": {"properties": {"p": {}}}}]}', ["{p}"]),
    ('{"tools": [{"shell": "|", "parameters": {"properties": {"p": {}}}}]}', ["p"]),
    ('{"executionMode": "|', ["synchronous", "asynchronous"]),
    ('{"model": {"provider": "scripted", "script": [{"calls": [{"tool": |}]}]}, "tools": [' + LOG + "]}", ["log"]),
    ("|", ["{ slug, model }"]),
    # where nothing can be written
    ('{"slug": "a" // |\n}', []),
    ('{"slug": "a" /* | */}', []),
    ('{"slug" | "a"}', []),
    ('{"slug": |"a"}', []),
    ('{"slug": "a"}|', []),
    ('{"model": {"apiKey": {"env": |', ["WORK_TOKEN", "HOME", "PATH"]),
    ('{"flavor": "OpenAIv1", |}', []),
]


@pytest.mark.parametrize(("marked", "expected"), OFFERED, ids=[marked for marked, _ in OFFERED])
async def test_what_is_offered(marked: str, expected: list[str]) -> None:
    assert await labels(marked) == expected


CHOSEN: list[tuple[str, str, str]] = [
    ("{|}", "slug", '{"slug": ""}'),
    ('{ | "model": {}}', "slug", '{ "slug": "", "model": {}}'),
    ('{"model": {} |}', "slug", '{"model": {} , "slug": ""}'),
    ('{"model": {}, |}', "slug", '{"model": {}, "slug": ""}'),
    ('{"sl|"}', "slug", '{"slug": ""}'),
    ('{"sl|" "model": {}}', "slug", '{"slug": "", "model": {}}'),
    ("{sl|}", "slug", '{"slug": ""}'),
    ('{"sl|ugg": "a"}', "slug", '{"slug": "a"}'),
    ('{"\U0001f600": "\U0001f600",\r\n "sl|\r\n}', "slug", '{"\U0001f600": "\U0001f600",\r\n "slug": ""\r\n}'),
    ('{"executionMode": |, "slug": ""}', "synchronous", '{"executionMode": "synchronous", "slug": ""}'),
    ('{"executionMode": |\n "slug": ""}', "synchronous", '{"executionMode": "synchronous",\n "slug": ""}'),
    ('{"executionMode": "asy|nc"}', "synchronous", '{"executionMode": "synchronous"}'),
    ('{"executionMode": "asy|}', "synchronous", '{"executionMode": "synchronous"}'),
    ('{"tools": [{"idempotent": t|}]}', "true", '{"tools": [{"idempotent": true}]}'),
    (
        '{"toolCallPolicy": {"rules": [|]}}',
        "{ tool, disposition }",
        '{"toolCallPolicy": {"rules": [{"tool": "", "disposition": "defer"}]}}',
    ),
    ('{"tools": [| {}]}', "{ external }", '{"tools": [{"kind": "external", "name": ""}, {}]}'),
    ('{"tools": [{} |]}', "{ external }", '{"tools": [{} , {"kind": "external", "name": ""}]}'),
    ('{"limits": {|}}', "toolTimeoutSeconds", '{"limits": {"toolTimeoutSeconds": 120}}'),
]


@pytest.mark.parametrize(("marked", "label", "expected"), CHOSEN, ids=[f"{one[0]}={one[1]}" for one in CHOSEN])
async def test_what_is_chosen_fits_into_the_text_around_it(marked: str, label: str, expected: str) -> None:
    assert await chosen(marked, label) == expected


async def test_a_client_that_can_gets_stops_to_fill_in() -> None:
    doc, offset = at_cursor('{"tools": [|]}')
    able, bare = [
        next(item for item in await World().language().completion(doc, offset, who) if item.label == "{ command }")
        for who in (asker(), asker(BARE))
    ]
    assert able.insert_text_format == lsp.InsertTextFormat.Snippet
    assert able.text_edit == lsp.TextEdit(
        lsp.Range(lsp.Position(0, 11), lsp.Position(0, 11)), '{"kind": "command", "name": "$1", "argv": [$2]}'
    )
    assert bare.insert_text_format == lsp.InsertTextFormat.PlainText
    assert bare.text_edit == lsp.TextEdit(
        lsp.Range(lsp.Position(0, 11), lsp.Position(0, 11)), '{"kind": "command", "name": "", "argv": []}'
    )


async def test_an_item_says_what_it_is_in_the_form_that_the_client_shows() -> None:
    doc, offset = at_cursor('{"sl|"}')
    able, bare = [(await World().language().completion(doc, offset, who))[0] for who in (asker(), asker(BARE))]
    words = "The agent's name for commands: 1 to 64 of `0-9 a-z _ -`, the first no sign."
    assert able.documentation == lsp.MarkupContent(lsp.MarkupKind.Markdown, words)
    assert bare.documentation == lsp.MarkupContent(lsp.MarkupKind.PlainText, words)
    assert (able.detail, able.filter_text, able.sort_text) == ("string, required", '"slug"', "0000")


async def test_hostile_names_act_on_no_screen_and_are_written_so_that_they_can_be_seen() -> None:
    name = "log\\u001b[31m\\u202e"
    doc, offset = at_cursor(
        '{"toolCallPolicy": {"rules": [{"tool": |}]}, "tools": [{"kind": "http", "name": "' + name + '"}]}'
    )
    item = (await World().language().completion(doc, offset, asker()))[0]
    assert item.label == "log\\x1b[31m\\u202e"
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.new_text == '"log\\u001b[31m\\u202e"'


async def test_no_value_of_the_environment_is_in_any_item() -> None:
    doc, offset = at_cursor('{"model": {"apiKey": {"env": |}}}')
    assert "canary" not in repr(await World().language().completion(doc, offset, asker(env=ENV)))


async def test_without_an_environment_no_variables_are_offered() -> None:
    doc, offset = at_cursor('{"model": {"apiKey": {"env": |}}}')
    assert await World().language().completion(doc, offset, asker()) == []
