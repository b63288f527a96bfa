"""What every kind of document can be asked (docs/architecture.md, Languages): a document in, values of LSP out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lsprotocol import types as lsp

from abey.language.text import Text
from abey.protocol.transcript import Client


@dataclass(frozen=True, slots=True)
class Document:
    """A file as its editor has it, saved or not. `path` is absolute: as the editor spells it if a language speaks that,
    else the real one. `version` counts the editor's changes."""

    uri: str
    path: Path
    version: int | None
    text: Text


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, as far as an answer depends on it. `plain`: it knows LSP alone, and no method of ours."""

    client: Client
    capabilities: lsp.ClientCapabilities
    plain: bool
    env: Mapping[str, str] | None = field(repr=False, default=None)
    trusted: tuple[Path, ...] = ()
    """Folders that this client trusts (agent-file.md); real paths."""


class Language(Protocol):
    """One kind of document. Offsets are in characters of `document.text.source`. Nothing here changes anything, and
    nothing starts a tool or asks a model."""

    def speaks(self, path: Path) -> bool:
        """Whether documents at `path` are of this kind; the first language that says so gets them."""
        ...

    async def diagnostics(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]: ...

    async def completion(self, document: Document, offset: int, asker: Asker) -> Sequence[lsp.CompletionItem]: ...

    async def hover(self, document: Document, offset: int, asker: Asker) -> lsp.Hover | None: ...

    async def code_actions(
        self, document: Document, start: int, end: int, asker: Asker
    ) -> Sequence[lsp.CodeAction]: ...

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]: ...

    async def symbols(self, document: Document, asker: Asker) -> Sequence[lsp.DocumentSymbol]: ...
