"""A language that says what it is asked, and the daemon as the server of it for one raw peer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from support.raw_peer import AGENTS, Link, Stage, connected

from abey.daemon.editors.commands import Command
from abey.daemon.editors.desk import Desk
from abey.daemon.editors.editors import Editors, trusted
from abey.daemon.editors.late import AT_ONCE
from abey.daemon.editors.offering import offered
from abey.daemon.editors.progress import Progresses
from abey.language.language import Asker, Document
from abey.protocol.base import Json
from abey.rpc.dispatch import Surface

QUICK = 0.02
"""Diagnostics of a test come after so many seconds of quiet."""


def found(message: str) -> lsp.Diagnostic:
    return lsp.Diagnostic(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1)), message)


def shown(uri: str, version: int | None, *messages: str) -> dict[str, Any]:
    """The notification that shows diagnostics with these messages."""
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    told: dict[str, Any] = {"uri": uri, "diagnostics": [{"range": place, "message": one} for one in messages]}
    if version is not None:
        told["version"] = version
    return {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": told}


@dataclass
class Echo:
    """Speaks `*.echo`. `looks` has the texts that it was asked to diagnose; it waits for `gate` where it is there."""

    looks: list[str] = field(default_factory=list)
    askers: list[Asker] = field(default_factory=list)
    gate: asyncio.Event | None = None
    actions: Sequence[lsp.CodeAction] = ()

    def speaks(self, path: Path) -> bool:
        return path.suffix == ".echo"

    async def diagnostics(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]:
        self.looks.append(document.text.source)
        self.askers.append(asker)
        if self.gate is not None:
            await self.gate.wait()
        if document.text.source == "boom":
            raise ValueError("boom")
        return [found(line) for line in document.text.source.splitlines()]

    async def completion(self, document: Document, offset: int, asker: Asker) -> Sequence[lsp.CompletionItem]:
        return [lsp.CompletionItem(f"{document.text.source[:offset]}|{document.text.source[offset:]}")]

    async def hover(self, document: Document, offset: int, asker: Asker) -> lsp.Hover | None:
        return lsp.Hover(f"{document.path}:{offset}")

    async def code_actions(self, document: Document, start: int, end: int, asker: Asker) -> Sequence[lsp.CodeAction]:
        return self.actions or [lsp.CodeAction(document.text.source[start:end], kind="quickfix")]

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]:
        return [lsp.CodeLens(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), lsp.Command("Go", "abey.go"))]

    async def symbols(self, document: Document, asker: Asker) -> Sequence[lsp.DocumentSymbol]:
        whole = document.text.range(0, len(document.text.source))
        start = document.text.range(0, 0)
        inner = [lsp.DocumentSymbol("start", lsp.SymbolKind.Variable, start, start)]
        return [lsp.DocumentSymbol("whole", lsp.SymbolKind.File, whole, whole, children=inner)]


@dataclass
class Editing(Stage):
    """The daemon of a test, with `language` in it."""

    language: Echo = field(default_factory=Echo)
    commands: dict[str, Command] = field(default_factory=dict)
    progresses: Progresses = field(default_factory=Progresses)

    offers: list[Any] = field(default_factory=list)
    """What each client was told that it can ask for."""

    def __post_init__(self) -> None:
        self.desk = Desk((self.language,), trusted, QUICK)

    @property
    def surface(self) -> Surface:
        stage = super().surface
        editors = Editors(self.desk, self.commands, self.progresses)
        return Surface(
            stage.bindings,
            stage.capabilities,
            stage.joined,
            self._left,
            editors.features,
            {**AT_ONCE, **editors.notices},
            partial(offered, commands=sorted(self.commands)),
        )

    def _left(self, peer: Any) -> None:
        self.left.append(peer)
        self.desk.left(peer)


class Client:
    """A raw peer as an editor speaks."""

    def __init__(self, link: Link) -> None:
        self.peer = link.peer
        self.end = link.end

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "echo", "version": version, "text": text}
        self.peer.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Json) -> None:
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
        self.peer.notify("textDocument/didChange", params)

    def write(self, uri: str, text: str, version: int) -> None:
        self.change(uri, version, {"text": text})

    def close(self, uri: str) -> None:
        self.peer.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def ask(self, method: str, uri: str, **params: Json) -> Any:
        """The result; what else is heard before it is passed over."""
        self.peer.ask("own", method, {"textDocument": {"uri": uri}, **params})
        while (message := await self.peer.message()).get("id") != "own":
            pass
        return message.get("result", message.get("error"))

    async def text(self, uri: str) -> str:
        """What the daemon has of the document."""
        items = await self.ask("textDocument/completion", uri, position={"line": 0, "character": 0})
        return "".join(item["label"].removeprefix("|") for item in items)


@asynccontextmanager
async def editing(
    stage: Editing, capabilities: dict[str, Any] | None = None, *, plain: bool = True, **params: Json
) -> AsyncIterator[Client]:
    """An editor that has said initialize; an extension of ours where it is not plain."""
    own = {} if plain else {"experimental": {"agents": AGENTS}}
    async with connected(stage) as link:
        answer = await link.peer.initialize({"capabilities": {**(capabilities or {}), **own}, **params})
        stage.offers.append(answer["result"]["capabilities"])
        yield Client(link)
