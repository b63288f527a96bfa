"""The client of pytest-lsp as an editor under remote control (support/editors.py), with the capabilities of VS Code."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

from lsprotocol import types as lsp
from pygls import uris
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

SPOKEN = {".json": "json", ".md": "markdown"}


class Remote:
    """One editor: its buffers, and the server that it started."""

    def __init__(self) -> None:
        self._client: LanguageClient | None = None
        self._buffers: dict[str, tuple[int, str]] = {}
        self._current = ""
        self._asked: list[dict[str, Any]] = []
        self._choice: str | None = None
        self._menu: list[str] = []
        self._hovered = ""

    @property
    def client(self) -> LanguageClient:
        assert self._client is not None, "no server was started"
        return self._client

    async def open(self, path: str) -> None:
        if self._client is None:
            self._client = await self._greet()
        self._show(path)

    def ready(self) -> bool:
        return self._client is not None

    def path(self) -> str:
        return self._current

    def paths(self) -> list[str]:
        shown = [uris.to_fs_path(one.uri) or "" for one in self.client.shown_documents]
        return [*self._buffers, *shown]

    def text(self) -> str:
        return self._buffers[self._current][1]

    def refresh(self) -> None:
        text = Path(self._current).read_text(encoding="utf-8")
        if text != self.text():
            self.replace(text)

    def replace(self, text: str) -> None:
        version = self._buffers[self._current][0] + 1
        self._buffers[self._current] = (version, text)
        document = lsp.VersionedTextDocumentIdentifier(version, uris.from_fs_path(self._current) or "")
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def save(self) -> None:
        Path(self._current).write_text(self.text(), encoding="utf-8")
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(self._document()))

    def diagnostics(self) -> list[list[Any]]:
        found = self.client.diagnostics.get(self._document().uri, [])
        return [[one.range.start.line, one.message] for one in found]

    async def complete(self, line: int, column: int) -> None:
        params = lsp.CompletionParams(self._document(), lsp.Position(line, column))
        found = await self.client.text_document_completion_async(params)
        items: Sequence[lsp.CompletionItem] = found.items if isinstance(found, lsp.CompletionList) else found or []
        self._menu = [one.text_edit.new_text if one.text_edit else one.insert_text or one.label for one in items]

    def menu(self) -> list[str]:
        return self._menu

    def escape(self) -> None:
        """There is nothing to leave."""

    async def hover(self, line: int, column: int) -> None:
        params = lsp.HoverParams(self._document(), lsp.Position(line, column))
        found = await self.client.text_document_hover_async(params)
        self._hovered = found.contents.value if found and isinstance(found.contents, lsp.MarkupContent) else ""

    def hovered(self) -> str:
        return self._hovered

    async def act(self, title: str, line: int = 0) -> None:
        here = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0))
        params = lsp.CodeActionParams(self._document(), here, lsp.CodeActionContext([]))
        actions = await self.client.text_document_code_action_async(params) or []
        self._asked = [{"prompt": "", "choices": [one.title for one in actions]}]
        for one in actions:
            given = one if isinstance(one, lsp.Command) else one.command
            if one.title == title and given is not None:
                await self.command(given.command, list(given.arguments or []))

    def choose(self, title: str) -> None:
        self._choice, self._asked = title, []

    def asked(self) -> list[dict[str, Any]]:
        return self._asked

    async def command(self, name: str, arguments: list[Any]) -> None:
        await self.client.workspace_execute_command_async(lsp.ExecuteCommandParams(name, arguments))

    def messages(self) -> list[str]:
        return [one.message for one in self.client.messages]

    def seen(self) -> str:
        return "\n".join([*self.paths(), *self.messages()])

    def progress(self) -> list[str]:
        values: list[Any] = [one for reports in self.client.progress_reports.values() for one in reports]
        return [f"{value.kind} {getattr(value, 'title', '')}" for value in values]

    def begin(self, title: str) -> None:
        self._begun = asyncio.create_task(self.act(title))

    def log(self) -> str:
        return "\n".join(one.message for one in self.client.log_messages) if self._client else ""

    def quit(self) -> None:
        asyncio.get_running_loop().call_later(0.05, os._exit, 0)

    async def _greet(self) -> LanguageClient:
        config = ClientServerConfig(
            server_command=["abey-daemon", "--stdio"], server_env=dict(os.environ), client_factory=client
        )
        started = await config.start()
        assert isinstance(started, LanguageClient)
        asks: Any = started.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        asks(lambda params: self._ask(params))  # pygls writes on what it is given, which a bound method refuses
        root = uris.from_fs_path(os.environ["ABEY_TEST_ROOT"])
        options = json.loads(os.environ["ABEY_TEST_OPTIONS"])
        capabilities = client_capabilities("visual-studio-code")
        params = lsp.InitializeParams(
            capabilities=capabilities,
            root_uri=root,
            client_info=lsp.ClientInfo("pytest-lsp"),
            initialization_options=options,
        )
        await started.initialize_session(params)
        return started

    def _ask(self, params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        actions = params.actions or []
        self._asked.append({"prompt": params.message, "choices": [one.title for one in actions]})
        return next((one for one in actions if one.title == self._choice), None)

    def _show(self, path: str) -> None:
        self._current = path
        if path in self._buffers:
            return
        text = Path(path).read_text(encoding="utf-8")
        self._buffers[path] = (1, text)
        item = lsp.TextDocumentItem(uris.from_fs_path(path) or "", SPOKEN[Path(path).suffix], 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def _document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(uris.from_fs_path(self._current) or "")


def client() -> LanguageClient:
    """As pytest-lsp makes one, but for lsprotocol, which takes every action that has a command for a command."""
    made = LanguageClient(converter_factory=converter)
    register_lsp_features(made)
    return made


def converter() -> Any:
    make: Any = default_converter
    found = make()

    def structure(value: Any, _: Any) -> lsp.Command | lsp.CodeAction:
        kind = lsp.Command if isinstance(value.get("command"), str) else lsp.CodeAction
        structured: lsp.Command | lsp.CodeAction = found.structure(value, kind)
        return structured

    found.register_structure_hook(lsp.Command | lsp.CodeAction, structure)
    found.register_structure_hook(Union[lsp.Command, lsp.CodeAction], structure)  # noqa: UP007  as lsprotocol has it
    return found


async def main() -> None:
    reader, writer = await asyncio.open_unix_connection(os.environ["ABEY_TEST_SOCKET"])
    remote = Remote()
    async for line in reader:
        order = json.loads(line)
        try:
            value = getattr(remote, order["verb"])(*order["arguments"])
            answer = {"value": await value if asyncio.iscoroutine(value) else value}
        except Exception as error:  # noqa: BLE001  whatever it is, the test is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        writer.write(json.dumps(answer).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
