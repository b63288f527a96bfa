"""The documents that an editor has open: what is asked of them, and what is shown of them unasked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from support.editing import Echo, Editing, editing, shown
from support.raw_peer import until

from abey.daemon.editors.documents import MOST, PIECES_OF
from abey.runtime.agents.files import MAX_BYTES

A, B = "file:///src/a.echo", "file:///src/b.echo"
TOO_LARGE = {
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    "message": "larger than 1048576 bytes, or was changed in too many pieces at once: it is not looked at",
    "severity": 2,
    "source": "abey",
}


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def span(*ends: int) -> dict[str, Any]:
    """A range from line and character to line and character."""
    return {"start": at(*ends[:2]), "end": at(*ends[2:])}


async def test_everything_that_a_language_knows_can_be_asked() -> None:
    able = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
    async with editing(Editing(), able) as client:
        client.open(A, "one\ntwo")
        answers = [
            await client.ask("textDocument/completion", A, position=at(1, 1)),
            await client.ask("textDocument/hover", A, position=at(1, 1)),
            await client.ask("textDocument/codeLens", A),
            await client.ask("textDocument/documentSymbol", A),
        ]
    whole, start = span(0, 0, 1, 3), span(0, 0, 0, 0)
    inner = {"name": "start", "kind": 13, "range": start, "selectionRange": start}
    assert answers == [
        [{"label": "one\nt|wo"}],
        {"contents": "/src/a.echo:5"},
        [{"range": span(0, 0, 0, 0), "command": {"title": "Go", "command": "abey.go"}}],
        [{"name": "whole", "kind": 1, "range": whole, "selectionRange": whole, "children": [inner]}],
    ]


@pytest.mark.parametrize("uri", [B, "untitled:Untitled-1", "file:///src/a.txt", "git:/src/a.echo", "", "\ud83d"])
async def test_what_is_not_open_or_no_file_or_of_no_language_is_answered_empty(uri: str) -> None:
    context = {"context": {"diagnostics": []}, "range": span(0, 0, 0, 0)}
    async with editing(Editing()) as client:
        client.open(A, "one")
        if uri != B:
            client.open(uri, "one")
        answers = [
            await client.ask("textDocument/completion", uri, position=at(0, 0)),
            await client.ask("textDocument/hover", uri, position=at(0, 0)),
            await client.ask("textDocument/codeAction", uri, **context),
            await client.ask("textDocument/codeLens", uri),
            await client.ask("textDocument/documentSymbol", uri),
        ]
    assert answers == [[], None, [], [], []]


async def test_a_document_is_what_the_editor_has_through_every_change() -> None:
    async with editing(Editing()) as client:
        client.open(A, "one")
        texts = [await client.text(A)]
        client.write(A, "two", 2)
        texts.append(await client.text(A))
        client.change(A, 3, {"text": "x"}, {"text": "a\r\n😀b"}, {"text": "!", "range": span(1, 2, 1, 3)})
        texts.append(await client.text(A))
        client.change(A, 4, {"text": "", "range": span(1, 9, 0, 1)})
        texts.append(await client.text(A))
        client.open(A, "again")
        texts.append(await client.text(A))
        client.close(A)
        texts.append(await client.text(A))
    assert texts == ["one", "two", "a\r\n😀!", "a", "again", ""]


async def test_two_editors_have_documents_of_their_own() -> None:
    stage = Editing()
    async with editing(stage) as one, editing(stage) as other:
        one.open(A, "mine")
        other.open(A, "yours")
        one.write(A, "changed", 2)
        assert (await one.text(A), await other.text(A)) == ("changed", "yours")
        documents = [stage.desk.document(peer, Path("/src/a.echo")) for peer in stage.joined]
    assert [document and document.text.source for document in documents] == ["changed", "yours"]


async def test_positions_are_counted_as_the_client_does() -> None:
    async with editing(Editing(), {"general": {"positionEncodings": ["utf-8"]}}) as client:
        client.open(A, "é😀x")
        assert await client.ask("textDocument/completion", A, position=at(0, 6)) == [{"label": "é😀|x"}]


async def test_diagnostics_come_after_opening_and_changing_and_go_with_closing() -> None:
    async with editing(Editing()) as client:
        client.open(A, "one\ntwo")
        heard = [await client.peer.message()]
        client.write(A, "three", 2)
        heard.append(await client.peer.message())
        client.close(A)
        heard.append(await client.peer.message())
    assert heard == [shown(A, 1, "one", "two"), shown(A, 2, "three"), shown(A, None)]


async def test_saving_looks_again() -> None:
    async with editing(Editing()) as client:
        client.open(A, "one")
        assert await client.peer.message() == shown(A, 1, "one")
        client.peer.notify("textDocument/didSave", {"textDocument": {"uri": A}, "text": "unasked"})
        assert await client.peer.message() == shown(A, 1, "one")


async def test_of_many_changes_the_last_is_looked_at() -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "0")
        for version in range(2, 500):
            client.write(A, f"{version}", version)
        assert await client.peer.message() == shown(A, 499, "499")
    assert stage.language.looks[-1] == "499"


async def test_what_was_computed_of_an_older_text_is_not_shown() -> None:
    stage = Editing(language=Echo(gate=asyncio.Event()))
    async with editing(stage) as client:
        client.open(A, "old")
        await until(lambda: stage.language.looks == ["old"])
        client.write(A, "new", 2)
        await until(lambda: stage.language.looks == ["old", "new"])
        assert stage.language.gate is not None
        stage.language.gate.set()
        assert await client.peer.message() == shown(A, 2, "new")
        assert await client.text(A) == "new"


async def test_of_a_document_that_was_closed_nothing_is_shown_afterwards() -> None:
    stage = Editing(language=Echo(gate=asyncio.Event()))
    async with editing(stage) as client:
        client.open(A, "one")
        await until(lambda: stage.language.looks == ["one"])
        client.close(A)
        await until(lambda: stage.desk.document(stage.joined[0], Path("/src/a.echo")) is None)
        assert stage.language.gate is not None
        stage.language.gate.set()
        assert await client.peer.message() == shown(A, None)
        client.open(B, "two")
        assert await client.peer.message() == shown(B, 1, "two")


async def test_a_language_that_fails_is_logged_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "boom")
        await until(lambda: "the diagnostics of a document failed" in caplog.text)
        client.write(A, "well", 2)
        assert await client.peer.message() == shown(A, 2, "well")


async def test_a_refresh_looks_again_at_the_documents_that_it_concerns() -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "one")
        client.open(B, "two")
        assert {str(await client.peer.message()) for _ in range(2)} == {
            str(shown(A, 1, "one")),
            str(shown(B, 1, "two")),
        }
        stage.desk.refresh(lambda path: path.name == "b.echo")
        assert await client.peer.message() == shown(B, 1, "two")
        assert await client.text(A) == "one"


async def test_many_refreshes_neither_pile_up_nor_keep_anything_from_being_shown() -> None:
    stage = Editing(language=Echo(gate=asyncio.Event()))
    async with editing(stage) as client:
        client.open(A, "one")
        await until(lambda: stage.language.looks == ["one"])
        for _ in range(50):
            stage.desk.refresh(lambda _: True)
        assert stage.language.gate is not None
        stage.language.gate.set()
        assert [await client.peer.message() for _ in range(2)] == [shown(A, 1, "one")] * 2
        assert (await client.text(A), stage.language.looks) == ("one", ["one", "one"])


async def test_lenses_are_asked_for_again_where_the_editor_can() -> None:
    stage = Editing()
    able = {"workspace": {"codeLens": {"refreshSupport": True}}}
    async with editing(stage, able) as client, editing(stage) as other:
        client.open(A, "one")
        other.open(A, "one")
        assert [await one.peer.message() for one in (client, other)] == [shown(A, 1, "one")] * 2
        for _ in range(10):
            stage.desk.refresh(lambda _: True)
        heard = [await client.peer.message() for _ in range(2)]
        asked = {"jsonrpc": "2.0", "id": "s1", "method": "workspace/codeLens/refresh"}
        assert sorted(heard, key=str) == sorted([shown(A, 1, "one"), asked], key=str)
        stage.desk.refresh(lambda _: True)
        client.peer.send({"jsonrpc": "2.0", "id": "s1", "error": {"code": -1, "message": "no"}})
        heard = [await client.peer.message() for _ in range(2)]
        assert sorted(heard, key=str) == sorted([shown(A, 1, "one"), {**asked, "id": "s2"}], key=str)
        assert await other.peer.message() == shown(A, 1, "one")


async def test_nobody_is_asked_for_lenses_of_documents_that_are_not_open() -> None:
    stage = Editing()
    async with editing(stage, {"workspace": {"codeLens": {"refreshSupport": True}}}) as client:
        stage.desk.refresh(lambda _: True)
        client.open(A, "one")
        assert await client.peer.message() == shown(A, 1, "one")


@pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "é" * (MAX_BYTES // 2 + 1), "x" * (10 << 20)])
async def test_a_document_that_is_too_large_is_not_looked_at_until_it_is_smaller(text: str) -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, text)
        heard = await client.peer.message()
        assert heard["params"] == {"uri": A, "version": 1, "diagnostics": [TOO_LARGE]}
        assert await client.ask("textDocument/hover", A, position=at(0, 0)) is None
        client.change(A, 2, {"text": "x", "range": span(0, 0, 0, 1)})
        assert (await client.peer.message())["params"] == {"uri": A, "version": 2, "diagnostics": [TOO_LARGE]}
        client.write(A, "x" * MAX_BYTES, 3)
        assert len(await client.text(A)) == MAX_BYTES
        client.write(A, text, 4)
        while (heard := await client.peer.message())["params"]["version"] == 3:
            pass
        assert heard["params"] == {"uri": A, "version": 4, "diagnostics": [TOO_LARGE]}
        client.close(A)
        assert await client.peer.message() == shown(A, None)
    assert text not in stage.language.looks


async def test_a_text_that_is_changed_in_too_many_pieces_is_not_looked_at_until_it_comes_whole() -> None:
    text, piece = "x" * 10_000, {"text": "y", "range": span(0, 0, 0, 1)}
    async with editing(Editing()) as client:
        client.open(A, text)
        client.change(A, 2, *[piece] * (PIECES_OF // len(text)))
        assert await client.text(A) == "y" + text[1:]
        client.change(A, 3, *[piece] * 900)
        assert await client.text(A) == ""
        while (heard := await client.peer.message())["params"]["version"] != 3:
            pass
        assert heard["params"] == {"uri": A, "version": 3, "diagnostics": [TOO_LARGE]}
        client.change(A, 4, *[piece] * 900, {"text": "whole"}, piece)
        assert await client.text(A) == "yhole"


async def test_so_many_documents_are_open_at_most(caplog: pytest.LogCaptureFixture) -> None:
    async with editing(Editing()) as client:
        for number in range(MOST + 1):
            client.open(f"file:///{number}.echo", f"{number}")
        texts = [await client.text(f"file:///{number}.echo") for number in (0, MOST - 1, MOST)]
        client.close("file:///0.echo")
        client.open(f"file:///{MOST}.echo", "room")
        assert (texts, await client.text(f"file:///{MOST}.echo")) == (["0", f"{MOST - 1}", ""], "room")
    assert f"has {MOST} documents open: one more is not looked at" in caplog.text


async def test_changes_and_ends_of_what_is_not_open_mean_nothing() -> None:
    async with editing(Editing()) as client:
        client.write(A, "never", 2)
        client.close(A)
        client.peer.notify("textDocument/didSave", {"textDocument": {"uri": A}})
        client.change(A, 3, {"text": "x", "range": span(0, 0, 0, 1)})
        assert await client.text(A) == ""
        client.open(B, "one")
        assert await client.peer.message() == shown(B, 1, "one")


async def test_a_client_that_leaves_takes_its_documents_and_what_was_due_with_it() -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "one")
        assert await client.text(A) == "one"
        client.peer.hang_up()
        await client.end
    stage.desk.refresh(lambda _: True)
    assert stage.desk.document(stage.joined[0], Path("/src/a.echo")) is None
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})


async def test_a_language_hears_who_asks(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    options = {"workspaceTrusted": True, "env": {"KEY": "canary"}}
    stage = Editing()
    async with (
        editing(stage, rootUri=link.as_uri(), initializationOptions=options) as trusting,
        editing(stage, plain=False, rootUri=link.as_uri()) as other,
    ):
        trusting.open(A, "one")
        assert await trusting.peer.message() == shown(A, 1, "one")
        other.open(A, "one")
        assert await other.peer.message() == shown(A, 1, "one")
    told = [(one.client.kind, one.plain, one.env, one.trusted) for one in stage.language.askers]
    assert told == [("lsp", True, {"KEY": "canary"}, (real,)), ("test", False, None, ())]
    assert "canary" not in repr(stage.language.askers)


async def test_folders_that_are_opened_later_are_trusted_too(tmp_path: Path) -> None:
    stage = Editing()
    async with editing(stage, initializationOptions={"workspaceTrusted": True}) as client:
        event = {"added": [{"uri": tmp_path.as_uri(), "name": "x"}], "removed": []}
        client.peer.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        client.open(A, "one")
        assert await client.peer.message() == shown(A, 1, "one")
    assert [one.trusted for one in stage.language.askers] == [(tmp_path,)]


QUICKFIX = lsp.CodeAction(
    "fix", kind=lsp.CodeActionKind.QuickFix, command=lsp.Command("Fix", "abey.fix", arguments=["x"])
)
REWRITE = lsp.CodeAction("rewrite", kind=lsp.CodeActionKind.RefactorRewrite, edit=lsp.WorkspaceEdit())
ODD = lsp.CodeAction("odd", command=lsp.Command("Odd", "abey.odd"))
LITERALS = {"textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}}


@pytest.mark.parametrize(
    ("only", "titles"),
    [
        (None, ["fix", "rewrite", "odd"]),
        (["quickfix"], ["fix"]),
        (["refactor"], ["rewrite"]),
        (["refactor.rewrite", "quickfix"], ["fix", "rewrite"]),
        (["refactor.rewrite.more", "quick"], []),
        ([""], ["fix", "rewrite", "odd"]),
        ([], []),
    ],
)
async def test_code_actions_are_of_the_kinds_that_are_asked_for(only: list[str] | None, titles: list[str]) -> None:
    stage = Editing(language=Echo(actions=[QUICKFIX, REWRITE, ODD]))
    context = {"diagnostics": [], **({} if only is None else {"only": only})}
    async with editing(stage, LITERALS) as client:
        client.open(A, "one")
        actions = await client.ask("textDocument/codeAction", A, range=span(0, 0, 0, 1), context=context)
    assert [action["title"] for action in actions] == titles


async def test_an_editor_that_knows_no_code_actions_gets_the_commands_of_them() -> None:
    stage = Editing(language=Echo(actions=[QUICKFIX, REWRITE, ODD]))
    async with editing(stage) as client:
        client.open(A, "one")
        context = {"diagnostics": []}
        actions = await client.ask("textDocument/codeAction", A, range=span(0, 0, 0, 1), context=context)
    assert actions == [
        {"title": "Fix", "command": "abey.fix", "arguments": ["x"]},
        {"title": "Odd", "command": "abey.odd"},
    ]


async def test_an_editor_that_knows_no_trees_gets_symbols_as_a_list() -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "one")
        symbols = await client.ask("textDocument/documentSymbol", A)
    inner = {"location": {"uri": A, "range": span(0, 0, 0, 0)}, "name": "start", "kind": 13, "containerName": "whole"}
    assert symbols == [{"location": {"uri": A, "range": span(0, 0, 0, 3)}, "name": "whole", "kind": 1}, inner]


async def test_a_document_behind_a_link_is_spoken_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real.echo").touch()
    link, chain = tmp_path / "link.txt", tmp_path / "link.echo"
    link.symlink_to("real.echo")
    chain.symlink_to("real.echo")
    stage = Editing()
    async with editing(stage) as client:
        hovers = []
        for path in (link, chain):
            client.open(path.as_uri(), "")
            hovers.append(await client.ask("textDocument/hover", path.as_uri(), position=at(0, 0)))
    assert hovers == [{"contents": f"{tmp_path}/real.echo:0"}, {"contents": f"{chain}:0"}]


async def test_a_range_that_is_upside_down_is_turned() -> None:
    async with editing(Editing(), LITERALS) as client:
        client.open(A, "one")
        context = {"diagnostics": []}
        [action] = await client.ask("textDocument/codeAction", A, range=span(0, 2, 0, 0), context=context)
    assert action == {"title": "on", "kind": "quickfix"}
