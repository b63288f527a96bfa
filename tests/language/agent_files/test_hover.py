"""What is under the cursor (`|`), in words."""

import pytest
from lsprotocol import types as lsp
from support.agent_documents import BARE, World, asker, at_cursor

from abey.core.policy import Floor, Laws
from abey.protocol.policy import Policy

HEAD = '"slug": "a", "model": {"provider": "scripted", "script": []}'
DEFER = "`defer`. Never run by itself: wait for somebody to approve, deny or complete it."
LOG = (
    '{"kind": "command", "name": "log", "description": "The last `commits`", "argv": ["git", "log"],'
    ' "parameters": {"properties": {"n": {}, "args": {}}}}'
)
SHELL = '{"kind": "command", "name": "sh", "argv": ["bash", "-c", "{command}"]}'


def agent(rules: str, tools: str = f"{LOG}, {SHELL}") -> str:
    return f'{{{HEAD}, "toolCallPolicy": {{"rules": [{rules}]}}, "tools": [{tools}]}}'


async def told(marked: str, capabilities: lsp.ClientCapabilities | None = None) -> str | None:
    doc, offset = at_cursor(marked)
    found = (
        await World()
        .language()
        .hover(doc, offset, asker(env={"SET": "canary"}) if capabilities is None else asker(capabilities))
    )
    return found.contents.value if found and isinstance(found.contents, lsp.MarkupContent) else None


async def test_a_field_is_explained_at_its_key_with_its_default() -> None:
    assert await told('{"limits": {"max|Steps": 3}}') == (
        "**maxSteps** (whole number, `50` by default)\n\nSteps of a turn; then it ends `limit`."
    )


async def test_a_word_is_explained_before_its_field() -> None:
    assert await told('{"model": {"provider": "anth|ropic"}}') == (
        "`anthropic`: Anthropic's Messages.\n\n**provider** (string, required)\n\nWhich API the model is asked through."
    )


RULES: list[tuple[str, str]] = [
    (
        '|{"tool": "log", "disposition": "defer"}',
        f"**Rule 1 of 1**, for `log`\n\n- `log`: {DEFER}",
    ),
    (
        '{"tool": "*", "disposition": {"tag": "deny", "reason": "no"}}, |{"tool": "l*", "disposition": "defer"}',
        "**Rule 2 of 2**, for `l*`\n\n"
        "- `log`: rule 1 decides instead, `deny` (`no`). Refused at once, and the model is told so.",
    ),
    (
        '|{"tool": "log", "match": {"/args/0": ["push", "pull"], "/n": {"glob": "v*"}}, "disposition": "defer"}',
        f'**Rule 1 of 1**, for `log`\n\n- `log` with `{{"args": {{"0": "push"}}, "n": "v"}}`: {DEFER}',
    ),
    (
        '|{"tool": "sh", "match": {"/command": "ls"}, "disposition": "runSync"}',
        "**Rule 1 of 1**, for `sh`\n\n"
        '- `sh` with `{"command": "ls"}`: `runSync`. Run in this step, which waits for it.',
    ),
    (
        '|{"tool": "shell", "disposition": "defer"}',
        "**Rule 1 of 1**, for `shell`\n\nIt fits no tool of this file that the model sees.",
    ),
]


@pytest.mark.parametrize(("rules", "expected"), RULES, ids=[expected for _, expected in RULES])
async def test_a_rule_says_what_it_does(rules: str, expected: str) -> None:
    assert await told(agent(rules)) == expected


async def test_a_rule_about_tools_that_nobody_listed_says_so() -> None:
    mcp = '{"kind": "mcp", "name": "fs", "command": ["fs"]}'
    assert await told(agent('|{"tool": "mcp_fs_*", "disposition": "defer"}', mcp)) == (
        "**Rule 1 of 1**, for `mcp_fs_*`\n\nNot listed yet, and so not checked: the tools of `fs`"
    )


async def test_the_parts_of_a_rule_are_explained_with_the_rule() -> None:
    assert await told(agent('{"tool": "log", "disposition": "de|fer"}')) == (
        f"{DEFER.replace('.', ':', 1)}\n\n"
        "**disposition** (string or object, required)\n\n"
        "What happens to a call that the rule matches.\n\n"
        f"**Rule 1 of 1**, for `log`\n\n- `log`: {DEFER}"
    )


async def test_a_rule_of_a_file_with_errors_is_not_guessed_at() -> None:
    assert await told(agent('|{"tool": "log", "disposition": "ask"}')) is None


async def test_a_tool_says_what_the_model_sees_and_what_runs() -> None:
    assert await told(agent("", f"|{LOG}")) == (
        "The model sees `log`:\n\n"
        "```\nThe last `commits`\n```\n\n"
        'It runs `"git" "log"`\n\n'
        "A call: `runSync`. Run in this step, which waits for it."
    )


async def test_a_floor_that_decides_instead_is_named() -> None:
    said = Policy.model_validate({"rules": [{"tool": "log", "disposition": "deny"}]})
    world = World(laws=Laws((Floor("user", said),)))
    doc, offset = at_cursor(agent('|{"tool": "log", "disposition": "runSync"}'))
    found = await world.language().hover(doc, offset, asker())
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    line = "- `log`: your policy.json decides instead, `deny`. Refused at once, and the model is told so."
    assert found.contents.value == f"**Rule 1 of 1**, for `log`\n\n{line}"


async def test_a_shell_like_tool_is_called_one() -> None:
    assert await told(agent("", f"|{SHELL}")) == (
        "The model sees `sh`.\n\n"
        'It runs `"bash" "-c" "{command}"`\n\n'
        "shell-like: `command` is a shell command; destructive\n\n"
        + f"A call: {DEFER.replace('`defer`', '`defer` (`the tool can change things`)')}"
    )


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            '{"kind": "executables", "directory": "tools"}',
            "The model sees its tools as `bash_…`, once a session has asked it for them.",
        ),
        (
            '{"kind": "mcp", "name": "fs", "command": ["fs"]}',
            "The model sees its tools as `mcp_fs_…`, once a session has asked it for them.",
        ),
        ('{"kind": "workspace", "allow": ["search", "read_file"]}', "The model sees `search`, `read_file`."),
        ('{"kind": "workspace", "allow": []}', "The model sees nothing of it."),
    ],
)
async def test_an_entry_that_stands_for_several_tools_names_them(tool: str, expected: str) -> None:
    assert await told(agent("", f"|{tool}")) == expected


async def test_a_request_says_what_is_asked() -> None:
    assert await told(agent("", '|{"kind": "http", "name": "h", "url": "http://localhost/{x}", "method": "PUT"}')) == (
        "The model sees `h`.\n\nIt asks `PUT http://localhost/{x}`\n\n"
        "A call: `runSync`. Run in this step, which waits for it."
    )


@pytest.mark.parametrize(("name", "expected"), [("SET", True), ("OTHER", False)])
async def test_a_variable_says_whether_it_is_set_and_never_to_what(name: str, expected: bool) -> None:
    found = await told(
        f'{{"model": {{"provider": "openai", "apiKey": {{"env": "{name}|"}}}}}}'.replace(f"{name}|", f"|{name}")
    )
    assert found is not None
    assert ("It is set in your environment." in found, "canary" in found) == (expected, False)


async def test_a_key_in_clear_is_not_repeated() -> None:
    found = await told('{"model": {"provider": "openai", "name": "x", "apiKey": "sk-|canary"}}')
    assert found is not None and "canary" not in found


async def test_what_a_hostile_file_says_can_act_on_nothing() -> None:
    hostile = '{"kind": "external", "name": "x", "description": "```\\n[yes](command:abey.start)\\u001b[2J\\u202e"}'
    assert await told(agent("", f"|{hostile}")) == (
        "The model sees `x`:\n\n"
        "````\n```\n[yes](command:abey.start)\\x1b[2J\\u202e\n````\n\n"
        "run by others only\n\n" + f"A call: {DEFER.replace('`defer`', '`defer` (`only others can run it`)')}"
    )


async def test_a_client_without_markdown_gets_plain_text() -> None:
    assert await told(agent('|{"tool": "log", "disposition": "defer"}'), BARE) == (
        f"Rule 1 of 1, for `log`\n\n- `log`: {DEFER}"
    )


@pytest.mark.parametrize("marked", ["|", "{}|", '{"x": |1}', '{"slug": "a" /* | */}', '{"flavor": "|x"}', "[|1]"])
async def test_of_other_places_nothing_is_said(marked: str) -> None:
    assert await told(marked) is None


async def test_the_range_is_that_of_the_word() -> None:
    doc, offset = at_cursor('{"\U0001f600": 0, "li|mits": {}}')
    found = await World().language().hover(doc, offset, asker())
    assert found is not None
    assert found.range == lsp.Range(lsp.Position(0, 10), lsp.Position(0, 18))
