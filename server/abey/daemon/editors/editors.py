"""The daemon as a language server: which method of LSP is whose business."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from abey.daemon.editors.commands import Command, Commands
from abey.daemon.editors.desk import Desk
from abey.daemon.editors.offering import offered
from abey.daemon.editors.progress import Progresses
from abey.rpc.dispatch import Feature, Notice
from abey.rpc.peer import Peer


class Editors:
    """Languages and commands, for every editor that is connected."""

    def __init__(self, desk: Desk, commands: Mapping[str, Command], progresses: Progresses) -> None:
        self.desk = desk
        self._commands = Commands(commands)
        self._progresses = progresses

    @property
    def features(self) -> Mapping[str, Feature]:
        return {
            lsp.TEXT_DOCUMENT_COMPLETION: self.desk.completion,
            lsp.TEXT_DOCUMENT_HOVER: self.desk.hover,
            lsp.TEXT_DOCUMENT_CODE_ACTION: self.desk.code_action,
            lsp.TEXT_DOCUMENT_CODE_LENS: self.desk.code_lens,
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: self.desk.document_symbol,
            lsp.WORKSPACE_EXECUTE_COMMAND: self._commands.execute,
        }

    @property
    def notices(self) -> Mapping[str, Notice]:
        return {
            lsp.INITIALIZED: _nothing,
            lsp.TEXT_DOCUMENT_DID_OPEN: self.desk.opened,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self.desk.changed,
            lsp.TEXT_DOCUMENT_DID_SAVE: self.desk.saved,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self.desk.closed,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _folders_changed,
            lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._progresses.cancelled,
        }

    def offered(self, peer: Peer) -> lsp.ServerCapabilities:
        return offered(peer, self._commands.names)


def trusted(peer: Peer) -> tuple[Path, ...]:
    """The folders that a client trusts for its own connection, by their real paths."""
    if not peer.options.workspace_trusted:
        return ()
    return tuple(Path(os.path.realpath(folder)) for folder in peer.editor.folders)


def _folders_changed(peer: Peer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    peer.editor.change_folders(params.event)


def _nothing(_: Peer, __: Any) -> None:
    """The client is ready; so are we."""
