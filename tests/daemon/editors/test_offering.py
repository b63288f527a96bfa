"""What an editor is told that it can ask for."""

from typing import Any

import pytest
from support.editing import Editing, editing

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
