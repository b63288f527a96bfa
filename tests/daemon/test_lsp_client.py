"""A stock LSP client finds a standard server."""

import asyncio
import os
import sys
from pathlib import Path

from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient
from support import fake_daemon


async def test_pytest_lsp_starts_a_session_and_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-P", fake_daemon.__file__, "--stdio", "--standalone"]
    environment = {**os.environ, **fake_daemon.environment(tmp_path)}
    client = await ClientServerConfig(server_command=command, server_env=environment).start()
    assert isinstance(client, LanguageClient)
    async with asyncio.timeout(20):
        capabilities = lsp.ClientCapabilities(workspace=lsp.WorkspaceClientCapabilities(configuration=True))
        folders = [lsp.WorkspaceFolder(uri=tmp_path.as_uri(), name="work")]
        result = await client.initialize_session(
            lsp.InitializeParams(capabilities=capabilities, workspace_folders=folders, root_uri=tmp_path.as_uri())
        )
        await client.shutdown_session()
    assert (result.server_info and result.server_info.name, result.capabilities.text_document_sync) == (
        "abey",
        lsp.TextDocumentSyncKind.None_,
    )
