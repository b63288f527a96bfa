"""What a client is as an editor: capabilities, however odd, and the folders that it has open."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder
from support.raw_peer import Stage, connected

from abey.rpc.editor import FOLDERS, MEMBERS, Editor, editor
from abey.rpc.faults import InvalidParams

A, B, C = Path("/a"), Path("/b c"), Path("/c")


def change(added: Any, removed: Any) -> dict[str, Any]:
    return {"event": {"added": added, "removed": removed}}


def folder(path: Path) -> dict[str, Any]:
    return {"uri": path.as_uri(), "name": path.name}


@pytest.mark.parametrize(
    ("params", "folders"),
    [
        ({}, ()),
        (
            {"workspaceFolders": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b%20c"}], "rootUri": "file:///c"},
            (A, B),
        ),
        ({"workspaceFolders": [], "rootUri": "file:///c"}, ()),
        ({"workspaceFolders": None, "rootUri": "file:///c", "rootPath": "/a"}, (C,)),
        ({"rootUri": None, "rootPath": "/c"}, (C,)),
        ({"rootUri": "https://host/c"}, ()),
        ({"rootPath": "c"}, ()),
        ({"rootPath": "/c\0"}, ()),
        ({"rootPath": 7, "rootUri": [1], "workspaceFolders": "x"}, ()),
        ({"workspaceFolders": [7, {}, {"uri": 7}, {"uri": "vscode-remote://x/a"}, {"uri": "file:///a"}]}, (A,)),
        ({"workspaceFolders": [{"uri": "file:///a"}, {"uri": "file:///a"}]}, (A,)),
        (
            {"workspaceFolders": [{"uri": f"file:///{n}"} for n in range(1000)]},
            tuple(Path(f"/{n}") for n in range(FOLDERS)),
        ),
    ],
)
def test_the_folders_are_those_of_the_newest_member_that_is_there(
    params: dict[str, Any], folders: tuple[Path, ...]
) -> None:
    assert editor(params).folders == folders


def test_folders_come_and_go() -> None:
    known = Editor(folders=(A, B))
    known.change_folders(change([folder(C), folder(B)], [folder(A)]))
    known.change_folders(change([], [folder(Path("/never"))]))
    assert known.folders == (B, C)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (None, "event: a WorkspaceFoldersChangeEvent is needed"),
        ({"event": []}, "event: a WorkspaceFoldersChangeEvent is needed"),
        ({"event": {"added": []}}, "event.removed: a list of at most 1000 folders is needed"),
        (change([folder(C)] * (MEMBERS + 1), []), "event.added: a list of at most 1000 folders is needed"),
        (change([], [{"uri": 7}]), "event.removed: each folder has a uri"),
        (change([folder(C)], ["file:///a"]), "event.removed: each folder has a uri"),
    ],
)
def test_a_change_that_is_not_as_lsp_has_it_changes_nothing(params: Any, told: str) -> None:
    known = Editor(folders=(A, B))
    with pytest.raises(InvalidParams, match=told):
        known.change_folders(params)
    assert known.folders == (A, B)


async def test_a_peer_knows_its_editor() -> None:
    stage = Stage()
    capabilities = {
        "general": {"positionEncodings": ["utf-7", "utf-8"]},
        "workspace": {"codeLens": {"refreshSupport": True}, "applyEdit": "yes"},
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        "textDocument": {"completion": 7, "hover": {"contentFormat": ["plaintext"]}},
        "offsetEncoding": ["utf-8"],
        "notebookDocument": {},
    }
    async with connected(stage) as link:
        answer = await link.peer.initialize({"capabilities": capabilities, "rootUri": "file:///a"})
    [peer] = stage.joined
    assert (peer.plain, peer.editor.capabilities, peer.editor.encoding, peer.editor.folders) == (
        True,
        lsp.ClientCapabilities(
            general=lsp.GeneralClientCapabilities(position_encodings=("utf-7", lsp.PositionEncodingKind.Utf8)),
            workspace=lsp.WorkspaceClientCapabilities(
                code_lens=lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True)
            ),
            window=lsp.WindowClientCapabilities(
                work_done_progress=True, show_document=lsp.ShowDocumentClientCapabilities(support=True)
            ),
            text_document=lsp.TextDocumentClientCapabilities(
                hover=lsp.HoverClientCapabilities(content_format=(lsp.MarkupKind.PlainText,))
            ),
        ),
        lsp.PositionEncodingKind.Utf8,
        (A,),
    )
    assert answer["result"]["capabilities"]["positionEncoding"] == "utf-8"


@pytest.mark.parametrize(
    "capabilities", [None, {"general": 7}, {"general": {"positionEncodings": 7}}, {"x": {"y": {}}}]
)
def test_capabilities_that_cannot_be_read_are_none(capabilities: Any) -> None:
    known = editor({"capabilities": capabilities})
    assert (known.encoding, known.capabilities.text_document) == (lsp.PositionEncodingKind.Utf16, None)


NAMED = st.lists(st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-7", "UTF-8", ""]), max_size=4)
ELEMENTS = st.sampled_from([None, 7, 1.5, True, "utf-8", "utf-32", "x", [], {}, ["utf-8"]])
ODD = st.one_of(st.none(), st.integers(), st.lists(ELEMENTS, max_size=3))
GENERAL = st.one_of(
    ODD,
    st.fixed_dictionaries({}, optional={"positionEncodings": NAMED | ODD, "regularExpressions": ODD, "markdown": ODD}),
)


@given(st.fixed_dictionaries({}, optional={"general": GENERAL, "window": ODD}) | ODD)
def test_columns_are_counted_as_pygls_chooses_it(capabilities: Any) -> None:
    known = editor({"capabilities": capabilities})
    chosen = ServerCapabilitiesBuilder.choose_position_encoding(known.capabilities)
    assert known.encoding == (chosen.value if isinstance(chosen, lsp.PositionEncodingKind) else chosen)


@pytest.mark.parametrize("size", [MEMBERS, MEMBERS + 1])
def test_a_list_of_encodings_without_end_is_passed_over(size: int) -> None:
    known = editor({"capabilities": {"general": {"positionEncodings": ["utf-8"] * size}}})
    assert known.encoding == ServerCapabilitiesBuilder.choose_position_encoding(known.capabilities)
