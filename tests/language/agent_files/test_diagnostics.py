"""The findings of an agent file in an editor: exactly where, how bad, and of whose files nothing is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from support.agent_documents import BARE, HOME, OWN, THEIRS, WORKSPACE, World, asker, document

from abey.runtime.agents.files import MAX_BYTES
from abey.runtime.agents.findings import Fact

HEAD = '"slug": "a", "model": {"provider": "scripted", "script": []}'


async def said(text: str, path: Path = OWN) -> list[tuple[str, str]]:
    """(code, the text it stands on)"""
    doc = document(text, path)
    found = await World(trusted=[WORKSPACE]).language().diagnostics(doc, asker())
    return [(str(one.code), text[doc.text.offset(one.range.start) : doc.text.offset(one.range.end)]) for one in found]


PLACES: list[tuple[str, list[tuple[str, str]]]] = [
    ("", [("syntax", "")]),
    ("{", [("syntax", "{")]),
    ('{"slug": "a', [("syntax", '"a')]),
    ("{" + HEAD + ', "toools": []}', [("unknown-field", '"toools"')]),
    ("{" + HEAD + ', "limits": {"maxSteps": "3"}}', [("wrong-type", '"3"')]),
    ('{"slug": "a", "model": {"provider": "openai"}}', [("missing-field", '"model"')]),
    ("{" + HEAD + ', "toolCallPolicy": {"default": "ask"}}', [("unknown-disposition", '"ask"')]),
    (
        "{" + HEAD + ', "toolCallPolicy": {"rules": [{"tool": "x", "disposition": "deny"}]}}',
        [("unmatched-rule", '"x"')],
    ),
    (
        "{" + HEAD + ', "tools": [{"kind": "external", "name": "x"}, {"kind": "external", "name": "x"}]}',
        [("duplicate-tool", '"x"')],
    ),
    (
        "// \U0001f600\r\n{ /* \U0001f600 */ " + HEAD + ',\r\n\t"slug": "\U0001f600"}',
        [("duplicate-key", '"slug"'), ("invalid-slug", '"\U0001f600"')],
    ),
]


@pytest.mark.parametrize(("text", "expected"), PLACES, ids=[f"{one[1]}" for one in PLACES])
async def test_where_a_finding_stands(text: str, expected: list[tuple[str, str]]) -> None:
    assert await said(text) == expected


@pytest.mark.parametrize(("encoding", "start", "end"), [("utf-8", 8, 16), ("utf-16", 6, 11), ("utf-32", 5, 9)])
async def test_columns_are_counted_as_the_client_counts(encoding: str, start: int, end: int) -> None:
    doc = document("{" + HEAD + ',\r\n/*\U0001f600*/"\U0001f600é": 1}', encoding=lsp.PositionEncodingKind(encoding))
    found = await World().language().diagnostics(doc, asker())
    assert [one.range for one in found] == [lsp.Range(lsp.Position(1, start), lsp.Position(1, end))]


SHADOWED: dict[str, Any] = {
    "slug": "a",
    "model": {"provider": "scripted", "script": []},
    "toolCallPolicy": {"rules": [{"tool": "*", "disposition": "deny"}, {"tool": "x", "disposition": "defer"}]},
    "tools": [{"kind": "external", "name": "x"}],
}


async def test_a_rule_that_never_decides_fades_and_leads_to_the_one_that_does() -> None:
    doc = document(json.dumps(SHADOWED))
    at = doc.text.source.index
    whole = [
        doc.text.range(at(start), at(start) + len(start))
        for start in ('{"tool": "x", "disposition": "defer"}', '{"tool": "*", "disposition": "deny"}')
    ]
    assert await World().language().diagnostics(doc, asker()) == [
        lsp.Diagnostic(
            whole[0],
            "this rule never decides: rule 1 takes every call that it matches",
            lsp.DiagnosticSeverity.Warning,
            "shadowed-rule",
            source="abey",
            tags=[lsp.DiagnosticTag.Unnecessary],
            related_information=[
                lsp.DiagnosticRelatedInformation(lsp.Location(doc.uri, whole[1]), "this rule comes first")
            ],
        )
    ]


async def test_the_second_of_two_tools_with_one_name_leads_to_the_first() -> None:
    doc = document(json.dumps({**SHADOWED, "tools": SHADOWED["tools"] * 2}))
    first = doc.text.source.index('"x"}')
    found = await World().language().diagnostics(doc, asker())
    assert [one.related_information for one in found if one.code == "duplicate-tool"] == [
        [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(doc.uri, doc.text.range(first, first + 3)), "the first of that name"
            )
        ]
    ]


async def test_a_client_is_told_no_more_than_it_can_show() -> None:
    (found,) = await World().language().diagnostics(document(json.dumps(SHADOWED)), asker(BARE))
    assert (found.tags, found.related_information) == (None, None)


async def test_what_the_machine_knows_is_said_too() -> None:
    world = World(key_facts=[Fact("/model", "warning", "missing-key", "no key", on_key=True)])
    (found,) = await world.language().diagnostics(document("{" + HEAD + "}"), asker())
    assert (found.code, found.message) == ("missing-key", "no key")


async def test_no_more_than_500_findings_are_told() -> None:
    fields = ", ".join(f'"x{n}": 1' for n in range(600))
    assert len(await World().language().diagnostics(document("{" + HEAD + f", {fields}}}"), asker())) == 500


async def test_a_text_that_is_too_large_is_not_looked_at() -> None:
    doc = document(" " * (MAX_BYTES + 1))
    (found,) = await World().language().diagnostics(doc, asker())
    assert (found.code, found.message) == ("unreadable", "larger than 1048576 bytes")
    assert await World().language().symbols(doc, asker()) == []


# of whose files


@pytest.mark.parametrize(
    ("path", "spoken"),
    [
        (OWN, True),
        (THEIRS, True),
        (OWN.with_suffix(".jsonc"), False),
        (OWN.parent / "more" / "a.json", False),
        (OWN.parent.parent / "keys.json", False),
        (WORKSPACE / ".abey" / "policy.json", False),
        (WORKSPACE / "agents" / "a.json", False),
    ],
)
def test_which_files_are_agent_files(path: Path, spoken: bool) -> None:
    assert World().language().speaks(path) is spoken


async def test_the_user_may_have_linked_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real" / "agents").mkdir(parents=True)
    (tmp_path / "config").symlink_to(tmp_path / "real")
    language = World().language(tmp_path / "config")
    assert [language.speaks(tmp_path / name / "agents" / "a.json") for name in ("config", "real")] == [True, True]
    assert (
        await language.diagnostics(document("{" + HEAD + "}", tmp_path / "real" / "agents" / "a.json"), asker()) == []
    )


async def test_of_a_workspace_that_is_not_trusted_not_a_character_is_interpreted() -> None:
    text = '{"slug": "a", "toolCallPolicy": {"defalt": 1}, "model": {"apiKey": "sk-1", "script": "/etc/passwd"'
    doc, language, offset = document(text, THEIRS), World().language(), text.index("defalt")
    assert await language.diagnostics(doc, asker()) == [
        lsp.Diagnostic(
            doc.text.range(0, 0),
            "this folder is not trusted, and its agent files are not read: abey trust /home/ann/work",
            lsp.DiagnosticSeverity.Information,
            "untrusted",
            source="abey",
        )
    ]
    assert [
        await language.completion(doc, offset, asker()),
        await language.hover(doc, offset, asker()),
        await language.code_actions(doc, 0, len(text), asker()),
        await language.code_lenses(doc, asker()),
        await language.symbols(doc, asker()),
    ] == [[], None, [], [], []]


async def test_of_a_file_in_the_home_folders_own_abey_it_is_said_where_to_move_it() -> None:
    doc, language = document("{", HOME / ".abey" / "agents" / "a.json"), World(commands=["abey.trust"]).language()
    (finding,) = await language.diagnostics(doc, asker())
    assert (finding.code, finding.message) == (
        "untrusted",
        "/home/ann cannot be trusted, and its agent files are not read: move this one to"
        " /home/ann/.config/abey/agents, or into the .abey of a folder below",
    )
    assert await language.code_actions(doc, 0, 0, asker()) == []


async def test_trusting_the_folder_is_offered_where_that_can_be_done() -> None:
    doc = document("{}", THEIRS)
    (action,) = await World(commands=["abey.trust"]).language().code_actions(doc, 0, 0, asker())
    assert action.command == lsp.Command("Trust this folder", "abey.trust", arguments=[{"dir": str(WORKSPACE)}])
    assert [one.code for one in action.diagnostics or ()] == ["untrusted"]


@pytest.mark.parametrize("lent", [[], [WORKSPACE]], ids=["by the user", "by the client"])
async def test_of_a_trusted_workspace_everything_is_told(lent: list[Path]) -> None:
    world = World(trusted=[] if lent else [WORKSPACE])
    doc = document("{" + HEAD + ', "toolz": []}', THEIRS)
    assert [one.code for one in await world.language().diagnostics(doc, asker(trusted=lent))] == ["unknown-field"]
