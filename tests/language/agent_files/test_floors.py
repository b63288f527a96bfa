"""A `policy.json` in an editor (agent-file.md, Floors)."""

from pathlib import Path

import pytest
from support.agent_documents import CONFIG, HOME, WORKSPACE, asker, document

from abey.language.agent_files.floors import FloorLanguage
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.files import MAX_BYTES

OWN, THEIRS = CONFIG / "policy.json", WORKSPACE / ".abey" / "policy.json"


async def said(text: str, path: Path = OWN, *, trusted: bool = True) -> list[tuple[str, str]]:
    """(code, the text it stands on)"""
    language = FloorLanguage(CONFIG, lambda *_: trusted, lambda one: not one.is_relative_to(HOME / ".abey"), Aside())
    assert language.speaks(path)
    doc = document(text, path)
    found = await language.diagnostics(doc, asker())
    return [(str(one.code), text[doc.text.offset(one.range.start) : doc.text.offset(one.range.end)]) for one in found]


@pytest.mark.parametrize("path", [OWN, THEIRS])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", []),
        ('{"rules": [], "default": "deny"} // mine', []),
        ("{", [("syntax", "{")]),
        ('{"default": "denny"}', [("unknown-disposition", '"denny"')]),
        ('{"rules": [{"tool": "a"}]}', [("missing-field", '{"tool": "a"}')]),
        ('{"default": "deny", "default": "defer"}', [("ambiguous-key", '"default"')]),
    ],
)
async def test_what_is_wrong_is_said_where_it_is(path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert await said(text, path) == expected


async def test_of_a_workspace_that_is_not_trusted_nothing_is_read() -> None:
    assert await said("{", THEIRS, trusted=False) == [("untrusted", "")]
    assert await said("{", HOME / ".abey" / "policy.json", trusted=False) == []
    assert await said("{", OWN, trusted=False) == [("syntax", "{")]


async def test_a_file_that_is_too_large_is_not_read() -> None:
    assert await said(" " * (MAX_BYTES + 1)) == [("unreadable", "")]
