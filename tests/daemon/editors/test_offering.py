"""What an editor is told that it can ask for."""

from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types as lsp
from support.editing import Editing, editing

from abey.daemon.editors.offering import COMMANDS, TRIGGERS, offered
from abey.rpc.structuring import unstructured

SYNC = {"openClose": True, "change": 1, "save": {"includeText": False}}
FOLDERS = {"workspaceFolders": {"supported": True, "changeNotifications": True}}


async def command(*_: Any) -> None:
    """Does nothing."""


@pytest.mark.parametrize("plain", [True, False])
async def test_commands_are_offered_to_plain_clients_and_everything_else_to_all(plain: bool) -> None:
    stage = Editing(commands={"abey.step": command, "abey.open": command})
    async with editing(stage, plain=plain):
        pass
    offered = stage.offers[0]
    offered.pop("experimental")
    commands = {"executeCommandProvider": {"commands": ["abey.open", "abey.step"], "workDoneProgress": True}}
    assert offered == {
        "positionEncoding": "utf-16",
        "textDocumentSync": SYNC,
        "completionProvider": {"triggerCharacters": ['"', "/", "*", "$", "{"]},
        "hoverProvider": True,
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor", "source"]},
        "codeLensProvider": {"resolveProvider": False},
        "documentSymbolProvider": True,
        "workspace": FOLDERS,
        **(commands if plain else {}),
    }


@pytest.mark.parametrize("plain", [True, False])
def test_what_is_offered_is_what_lsprotocol_makes_of_it(plain: bool) -> None:
    peer: Any = SimpleNamespace(plain=plain)
    made = lsp.ServerCapabilities(
        text_document_sync=lsp.TextDocumentSyncOptions(
            open_close=True, change=lsp.TextDocumentSyncKind.Full, save=lsp.SaveOptions(include_text=False)
        ),
        completion_provider=lsp.CompletionOptions(trigger_characters=list(TRIGGERS)),
        hover_provider=True,
        code_action_provider=lsp.CodeActionOptions(
            code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Refactor, lsp.CodeActionKind.Source]
        ),
        code_lens_provider=lsp.CodeLensOptions(resolve_provider=False),
        document_symbol_provider=True,
        execute_command_provider=(
            lsp.ExecuteCommandOptions(commands=list(COMMANDS), work_done_progress=True) if plain else None
        ),
        workspace=lsp.WorkspaceOptions(
            workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
        ),
    )
    assert offered(peer) == unstructured(made)
