"""The documents that clients have open, each shown to the language that speaks it.

Laws: a request sees every change that came before it, and none that came after; what cannot be looked at (not open,
too large, no file, of no language) is answered empty; a language that fails harms nobody but its request.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp

from abey.daemon.editors.diagnosing import DEBOUNCE_SECONDS, Diagnosing, Found
from abey.daemon.editors.documents import Documents, TooLarge
from abey.daemon.editors.lenses import Lenses
from abey.daemon.editors.quoting import between_quotes
from abey.daemon.editors.suiting import suited_actions, suited_symbols
from abey.errors import InvalidState
from abey.language.language import Asker, Document, Language
from abey.rpc.peer import Peer
from abey.runtime.agents.files import MAX_BYTES

R = TypeVar("R")
Later = Coroutine[Any, Any, R]

_START = lsp.Position(0, 0)
_TOO_LARGE = f"larger than {MAX_BYTES} bytes, or was changed in too many pieces at once"
_NOT_LOOKED_AT = lsp.Diagnostic(
    range=lsp.Range(_START, _START),
    message=f"{_TOO_LARGE}: it is not looked at",
    severity=lsp.DiagnosticSeverity.Warning,
    source="abey",
)

Trusted = Callable[[Peer], tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Seat:
    """One client at the desk."""

    peer: Peer
    documents: Documents
    diagnosing: Diagnosing
    lenses: Lenses


class Desk:
    """Of all clients. The first of `languages` that speaks a path gets its documents."""

    def __init__(
        self, languages: Sequence[Language], trusted: Trusted, debounce_seconds: float = DEBOUNCE_SECONDS
    ) -> None:
        self._languages = tuple(languages)
        self._trusted = trusted
        self._seconds = debounce_seconds
        self._seats: dict[str, Seat] = {}
        self.on_saved: Callable[[Path], None] = lambda _: None
        """A client has saved the document at that path."""

    def document(self, peer: Peer, path: Path) -> Document | None:
        """What the client has open at that path, saved or not. Raises InvalidState where that is not looked at."""
        seat = self._seats.get(peer.id)
        found = seat.documents.at(path) if seat else None
        if isinstance(found, TooLarge):
            raise InvalidState(f"what is open is {_TOO_LARGE}; shorten it, or save and close it, then try again")
        return found

    def shown(self, path: Path) -> Iterator[tuple[Peer, Document]]:
        """Who has that path open, and how."""
        for seat in self._seats.values():
            found = seat.documents.at(path)
            if isinstance(found, Document):
                yield seat.peer, found

    def paths(self, peer: Peer) -> tuple[Path, ...]:
        """Of all that the client has open."""
        seat = self._seats.get(peer.id)
        return tuple(one.path for one in seat.documents) if seat else ()

    def asker(self, peer: Peer) -> Asker:
        return Asker(peer.client, peer.editor.capabilities, peer.plain, peer.options.env, self._trusted(peer))

    def refresh(self, concerned: Callable[[Path], bool]) -> None:
        """What the open documents at these paths say may have changed, though they did not: they are looked at again,
        and clients that can are told to ask for their lenses."""
        for seat in self._seats.values():
            found = [one for one in seat.documents if concerned(one.path)]
            for one in found:
                seat.diagnosing.again(one.uri, partial(self._look, seat, one.uri))
            if found:
                seat.lenses.refresh()

    def opened(self, peer: Peer, params: lsp.DidOpenTextDocumentParams) -> None:
        seat = self._seat(peer)
        seat.documents.open(params.text_document)
        self._look_soon(seat, params.text_document.uri)

    def changed(self, peer: Peer, params: lsp.DidChangeTextDocumentParams) -> None:
        seat = self._seat(peer)
        seat.documents.change(params.text_document, params.content_changes)
        self._look_soon(seat, params.text_document.uri)

    def saved(self, peer: Peer, params: lsp.DidSaveTextDocumentParams) -> None:
        """Saving runs nothing; what is found in a document may depend on what is on the disk."""
        seat = self._seat(peer)
        self._look_soon(seat, params.text_document.uri)
        if document := seat.documents.get(params.text_document.uri):
            self.on_saved(document.path)

    def closed(self, peer: Peer, params: lsp.DidCloseTextDocumentParams) -> None:
        seat = self._seat(peer)
        if seat.documents.close(params.text_document.uri):
            seat.diagnosing.clear(params.text_document.uri)

    def left(self, peer: Peer) -> None:
        if seat := self._seats.pop(peer.id, None):
            seat.diagnosing.end()
            seat.lenses.end()

    def completion(self, peer: Peer, params: lsp.CompletionParams) -> Later[Sequence[lsp.CompletionItem]]:
        async def ask(language: Language, document: Document, asker: Asker) -> Sequence[lsp.CompletionItem]:
            offset = document.text.offset(params.position)
            return between_quotes(await language.completion(document, offset, asker), document.text, offset)

        return self._asked(peer, params.text_document, ask, ())

    def hover(self, peer: Peer, params: lsp.HoverParams) -> Later[lsp.Hover | None]:
        def ask(language: Language, document: Document, asker: Asker) -> Later[lsp.Hover | None]:
            return language.hover(document, document.text.offset(params.position), asker)

        return self._asked(peer, params.text_document, ask, None)

    def code_action(self, peer: Peer, params: lsp.CodeActionParams) -> Later[Sequence[lsp.CodeAction | lsp.Command]]:
        async def ask(language: Language, document: Document, asker: Asker) -> Sequence[lsp.CodeAction | lsp.Command]:
            ends = document.text.offset(params.range.start), document.text.offset(params.range.end)
            found = await language.code_actions(document, min(ends), max(ends), asker)
            return suited_actions(found, params.context.only, asker.capabilities)

        return self._asked(peer, params.text_document, ask, ())

    def code_lens(self, peer: Peer, params: lsp.CodeLensParams) -> Later[Sequence[lsp.CodeLens]]:
        def ask(language: Language, document: Document, asker: Asker) -> Later[Sequence[lsp.CodeLens]]:
            return language.code_lenses(document, asker)

        return self._asked(peer, params.text_document, ask, ())

    def document_symbol(
        self, peer: Peer, params: lsp.DocumentSymbolParams
    ) -> Later[Sequence[lsp.DocumentSymbol] | Sequence[lsp.SymbolInformation]]:
        async def ask(
            language: Language, document: Document, asker: Asker
        ) -> Sequence[lsp.DocumentSymbol] | Sequence[lsp.SymbolInformation]:
            found = await language.symbols(document, asker)
            return suited_symbols(found, document.uri, asker.capabilities)

        return self._asked(peer, params.text_document, ask, ())

    def _asked(
        self,
        peer: Peer,
        identifier: lsp.TextDocumentIdentifier,
        ask: Callable[[Language, Document, Asker], Later[R]],
        nothing: R,
    ) -> Later[R]:
        """Asks about the document as it is now."""
        document = self._seat(peer).documents.get(identifier.uri)
        if not isinstance(document, Document):
            return _at_once(nothing)
        language = self._language(document.path)
        return ask(language, document, self.asker(peer)) if language else _at_once(nothing)

    def _look_soon(self, seat: Seat, uri: str) -> None:
        if seat.documents.get(uri):
            seat.diagnosing.soon(uri, partial(self._look, seat, uri))

    async def _look(self, seat: Seat, uri: str) -> Found | None:
        document = seat.documents.get(uri)
        if isinstance(document, TooLarge):
            return document.version, (_NOT_LOOKED_AT,)
        language = self._language(document.path) if document else None
        if document is None or language is None:
            return None
        return document.version, await language.diagnostics(document, self.asker(seat.peer))

    def _is_spoken(self, path: Path) -> bool:
        return self._language(path) is not None

    def _language(self, path: Path) -> Language | None:
        return next((language for language in self._languages if language.speaks(path)), None)

    def _seat(self, peer: Peer) -> Seat:
        seat = self._seats.get(peer.id)
        if seat is None:
            documents = Documents(peer.id, peer.editor.encoding, self._is_spoken)
            seat = self._seats[peer.id] = Seat(peer, documents, Diagnosing(peer, self._seconds), Lenses(peer))
        return seat


async def _at_once(value: R) -> R:
    return value
