"""The outline of an agent file, and the lens above it."""

import pytest
from lsprotocol import types as lsp
from support.agent_documents import OWN, World, asker, document

FILE = """{
  "slug": "release",
  "model": {"provider": "openai", "name": "gpt", "apiKey": "sk-canary"},
  "toolCallPolicy": {
    "default": "defer",
    "rules": [{"tool": "log", "disposition": {"tag": "deny"}}, {"disposition": "runSync"}]
  },
  "tools": [{"kind": "command", "name": "log"}, {"kind": "executables", "directory": "tools/"}, {}],
  "limits": {"maxSteps": 3}
}
"""


def outline(symbol: lsp.DocumentSymbol, depth: int = 0) -> list[str]:
    line = f"{'  ' * depth}{symbol.name}: {symbol.detail or ''} ({symbol.kind.name}, line {symbol.range.start.line})"
    return [line, *(line for child in symbol.children or () for line in outline(child, depth + 1))]


async def shown(text: str) -> list[str]:
    return [line for one in await World().language().symbols(document(text), asker()) for line in outline(one)]


async def test_the_outline_of_a_file() -> None:
    assert await shown(FILE) == [
        "release: agent (Class, line 0)",
        "  model: openai gpt (Object, line 2)",
        "  toolCallPolicy: defer (Namespace, line 3)",
        "    log: deny (Event, line 5)",
        "    rule 2: runSync (Event, line 5)",
        "  tools: 3 (Array, line 7)",
        "    log: command (Function, line 7)",
        "    tools/: executables (Function, line 7)",
        "    tool 3:  (Function, line 7)",
        "  limits:  (Object, line 8)",
        "    maxSteps: 3 (Number, line 8)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("[]", []),
        ('{"slug": ""', ["agent: agent (Class, line 0)"]),
        ('{"slug": "\\u202ex', ["\\u202ex: agent (Class, line 0)"]),
        (
            '{"slug": "a", "limits": {"maxSteps": "model": {"apiKey": "sk-canary"}}}',
            ["a: agent (Class, line 0)", "  limits:  (Object, line 0)", "    model:  (Number, line 0)"],
        ),
        (
            '{"tag": "OpenAIAgentDescription", "contents": {"slug": "theirs", "flavor": "x"}}',
            ["theirs: agent (Class, line 0)"],
        ),
    ],
)
async def test_the_outline_of_what_is_half_a_file_or_none(text: str, expected: list[str]) -> None:
    assert await shown(text) == expected


async def test_what_is_selected_lies_within_its_symbol() -> None:
    doc = document(FILE)
    (agent,) = await World().language().symbols(doc, asker())
    selected = doc.text.range(FILE.index('"release"'), FILE.index('"release"') + 9)
    assert (agent.range, agent.selection_range) == (doc.text.range(0, len(FILE) - 1), selected)


@pytest.mark.parametrize(("pending", "title"), [(0, "Start session · 0 pending"), (2, "Start session · 2 pending")])
async def test_the_lens_stands_at_the_name_of_the_agent(pending: int, title: str) -> None:
    doc = document(FILE)
    command = lsp.Command(title, "abey.start", arguments=[{"agentFile": str(OWN)}])
    where = doc.text.range(FILE.index('"slug"'), FILE.index('"slug"') + 17)
    assert await World(pending={OWN: pending}).language().code_lenses(doc, asker()) == [lsp.CodeLens(where, command)]


@pytest.mark.parametrize(("text", "lines"), [("// none yet\n{}", [1]), ("", []), ("[]", [])])
async def test_the_lens_of_a_file_without_a_name_is_at_its_top(text: str, lines: list[int]) -> None:
    found = await World().language().code_lenses(document(text), asker())
    assert [one.range.start.line for one in found] == lines
