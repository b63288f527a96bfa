"""The daemon as a language server: which method of LSP is whose business."""

import os
from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types as lsp

from abey.daemon.editors.commands import Command, Commands
from abey.daemon.editors.desk import Desk
from abey.daemon.editors.progress import Progresses
from abey.rpc.dispatch import Feature, Notice
from abey.rpc.peer import Peer
from abey.rpc.speaking import Answers, Takes, feature, notice


class Editors:
    """Languages and commands, for every editor that is connected."""

    def __init__(self, desk: Desk, commands: Mapping[str, Command], progresses: Progresses) -> None:
        self.desk = desk
        self._progresses = progresses
        self.features = self._features(Commands(commands))
        self.notices = self._notices()

    def _features(self, commands: Commands) -> Mapping[str, Feature]:
        answers: Mapping[str, Answers] = {
            lsp.TEXT_DOCUMENT_COMPLETION: self.desk.completion,
            lsp.TEXT_DOCUMENT_HOVER: self.desk.hover,
            lsp.TEXT_DOCUMENT_CODE_ACTION: self.desk.code_action,
            lsp.TEXT_DOCUMENT_CODE_LENS: self.desk.code_lens,
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: self.desk.document_symbol,
            lsp.WORKSPACE_EXECUTE_COMMAND: commands.execute,
        }
        return {name: feature(name, answer) for name, answer in answers.items()}

    def _notices(self) -> Mapping[str, Notice]:
        takes: Mapping[str, Takes] = {
            lsp.TEXT_DOCUMENT_DID_OPEN: self.desk.opened,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self.desk.changed,
            lsp.TEXT_DOCUMENT_DID_SAVE: self.desk.saved,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self.desk.closed,
            lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._progresses.cancelled,
        }
        return {name: notice(name, take) for name, take in takes.items()}


def trusted(peer: Peer) -> tuple[Path, ...]:
    """The folders that a client trusts for its own connection, by their real paths."""
    if not peer.options.workspace_trusted:
        return ()
    return tuple(Path(os.path.realpath(folder)) for folder in peer.editor.folders)
