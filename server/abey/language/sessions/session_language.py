"""The documents of sessions as a language: their actions, their turns, and what waits in them."""

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp

from abey.language.language import Asker, Document
from abey.language.sessions.composer import COMPOSER, Composer, composer_of
from abey.language.sessions.names import read_name
from abey.language.sessions.offers import Offer, open_offer, session_offers
from abey.language.sessions.outline import headings, symbols
from abey.language.sessions.page import Look, Page, Waiting
from abey.language.sessions.telling import hover_of, shown_wait

GONE = "there is no such session any more, or it cannot be read: nothing here is sent"
NO_COMPOSER = "the composer line is gone, so nothing can be sent from here; put back the line: "


class SessionLanguage:
    """A Language (language.py). What is offered depends on how the session is now, not on what the document shows."""

    def __init__(self, folder: Path, look: Look) -> None:
        self._folder = folder
        self._look = look

    def speaks(self, path: Path) -> bool:
        name = read_name(path.name)
        return name is not None and name.call is None and path.parent == self._folder

    async def diagnostics(self, document: Document, _: Asker) -> Sequence[lsp.Diagnostic]:
        if await self._page(document) is None:
            return [_warning(document, GONE)]
        if composer_of(document.text.source) is None:
            return [_warning(document, f"{NO_COMPOSER}{COMPOSER}")]
        return []

    async def completion(self, _document: Document, _offset: int, _: Asker) -> Sequence[lsp.CompletionItem]:
        return []

    async def hover(self, document: Document, offset: int, _: Asker) -> lsp.Hover | None:
        """Of a pending call, on a line that is about it."""
        page = await self._page(document)
        found = _wait_at(page, document.text.source, offset) if page else None
        return hover_of(shown_wait(found)) if found else None

    async def code_actions(self, document: Document, _start: int, _end: int, asker: Asker) -> Sequence[lsp.CodeAction]:
        """Wherever the cursor is; for plain clients alone, for they have no other way."""
        return [offer.action() for offer in await self._offers(document)] if asker.plain else []

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]:
        """The same, at the first line, at the composer line, and at each pending call."""
        text, page = document.text, await self._page(document)
        if page is None or not asker.plain:
            return []
        offers = await self._offers(document)
        places = [(0, offer) for offer in offers]
        composer = composer_of(text.source)
        if composer is not None:
            before = text.source.rfind(COMPOSER, 0, composer.start)
            places += [(before, offer) for offer in offers if offer.title in ("Send", "Step", "Run")]
        for one in page.waiting:
            line = text.source.find(_line_of(one))
            if one.has_document and line >= 0:
                places.append((line + 1, open_offer(one)))
        return [offer.lens(text.range(at, at)) for at, offer in places]

    async def symbols(self, document: Document, _: Asker) -> Sequence[lsp.DocumentSymbol]:
        return symbols(document.text)

    async def _offers(self, document: Document) -> list[Offer]:
        page = await self._page(document)
        composer = composer_of(document.text.source) or Composer(0, "")
        return list(session_offers(page, document.uri, composer.message)) if page else []

    async def _page(self, document: Document) -> Page | None:
        name = read_name(document.path.name)
        return await self._look(name.session_id) if name else None


def _line_of(waiting: Waiting) -> str:
    """How the line about it begins, where the document says what waits (rendering.py)."""
    return f"\n- call {waiting.n} "


def _wait_at(page: Page, text: str, offset: int) -> Waiting | None:
    line = text[text.rfind("\n", 0, offset) + 1 :].split("\n", 1)[0]
    composer = composer_of(text)
    if composer is not None and offset >= composer.start:
        return None
    for one in page.waiting:
        if line.startswith(_line_of(one)[1:]):
            return one
    inside = [found for found in headings(text) if found.level == 3 and found.start <= offset < found.end]
    return next((one for one in page.waiting for found in inside if found.title.startswith(f"Call {one.n} ")), None)


def _warning(document: Document, message: str) -> lsp.Diagnostic:
    end = document.text.source.find("\n")
    return lsp.Diagnostic(
        range=document.text.range(0, max(end, 0)),
        severity=lsp.DiagnosticSeverity.Warning,
        source="abey",
        message=message,
    )
