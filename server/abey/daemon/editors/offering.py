"""What an editor is told that it can ask for (LSP 3.17, Server Capabilities), as JSON: without lsprotocol."""

from collections.abc import Mapping, Sequence

from abey.protocol.base import Json
from abey.rpc.peer import Peer

COMMANDS = (
    "abey.cancel",
    "abey.complete",
    "abey.open",
    "abey.pending",
    "abey.run",
    "abey.send",
    "abey.start",
    "abey.step",
    "abey.trust",
)
TRIGGERS = ('"', "/", "*", "$", "{")
ACTION_KINDS = ("quickfix", "refactor", "source")
FULL_TEXTS = 1
"""LSP's TextDocumentSyncKind.Full."""


def offered(peer: Peer, commands: Sequence[str] = COMMANDS) -> Mapping[str, Json]:
    """The same for every client, but `commands` for a plain one only: an extension registers its own, and two of the
    same name are an error in some editors."""
    executing: Mapping[str, Json] = {"commands": list(commands), "workDoneProgress": True}
    return {
        "textDocumentSync": {"openClose": True, "change": FULL_TEXTS, "save": {"includeText": False}},
        "completionProvider": {"triggerCharacters": list(TRIGGERS)},
        "hoverProvider": True,
        "codeActionProvider": {"codeActionKinds": list(ACTION_KINDS)},
        "codeLensProvider": {"resolveProvider": False},
        "documentSymbolProvider": True,
        **({"executeCommandProvider": executing} if peer.plain else {}),
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
