"""What an editor is told that it can ask for (LSP 3.17, Server Capabilities)."""

from collections.abc import Sequence

from lsprotocol import types as lsp

from abey.rpc.peer import Peer

TRIGGERS = ('"', "/", "*", "$", "{")
ACTION_KINDS = (lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Refactor, lsp.CodeActionKind.Source)


def offered(peer: Peer, commands: Sequence[str]) -> lsp.ServerCapabilities:
    """The same for every client, but `commands` for a plain one only: an extension registers its own, and two of the
    same name are an error in some editors."""
    return lsp.ServerCapabilities(
        text_document_sync=lsp.TextDocumentSyncOptions(
            open_close=True, change=lsp.TextDocumentSyncKind.Full, save=lsp.SaveOptions(include_text=False)
        ),
        completion_provider=lsp.CompletionOptions(trigger_characters=list(TRIGGERS)),
        hover_provider=True,
        code_action_provider=lsp.CodeActionOptions(code_action_kinds=list(ACTION_KINDS)),
        code_lens_provider=lsp.CodeLensOptions(resolve_provider=False),
        document_symbol_provider=True,
        execute_command_provider=(
            lsp.ExecuteCommandOptions(commands=list(commands), work_done_progress=True) if peer.plain else None
        ),
        workspace=lsp.WorkspaceOptions(
            workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
        ),
    )
