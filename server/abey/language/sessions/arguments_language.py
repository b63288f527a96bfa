"""The documents of pending calls as a language: JSON with the schema of its tool, and the answers to the call."""

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp

from abey.language.language import Asker, Document
from abey.language.sessions.argument_findings import answered, findings
from abey.language.sessions.arguments import schema_of
from abey.language.sessions.names import read_name
from abey.language.sessions.offers import Offer, call_offers
from abey.language.sessions.page import Look, Page, Waiting
from abey.language.sessions.schema_completion import completion
from abey.language.sessions.telling import hover_of, shown_wait
from abey.language.turns import Turns
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.findings import Finding, Severity

_SEVERITIES: dict[Severity, lsp.DiagnosticSeverity] = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
    "hint": lsp.DiagnosticSeverity.Hint,
}


class ArgumentsLanguage:
    """A Language (language.py). Nothing is offered for a call that was answered meanwhile. What reads arguments does so
    in the threads of `aside`: a model may write a mebibyte of them."""

    def __init__(self, folder: Path, look: Look, aside: Aside) -> None:
        self._folder = folder
        self._look = look
        self._turns = Turns(aside)

    def speaks(self, path: Path) -> bool:
        name = read_name(path.name)
        return name is not None and name.call is not None and path.parent == self._folder

    async def diagnostics(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]:
        page, n = await self._page(document)
        wait, text = page.wait(n) if page else None, document.text.source
        if wait is None:
            return [_diagnostic(document, answered(page.call(n) if page else None, text))]
        found = await self._turns.run(asker.client.id, lambda: list(findings(wait.pending, text)))
        return [_diagnostic(document, one) for one in found]

    async def completion(self, document: Document, offset: int, asker: Asker) -> Sequence[lsp.CompletionItem]:
        wait = await self._wait(document)
        schema = schema_of(wait.pending) if wait else None
        if schema is None:
            return []
        return await self._turns.run(asker.client.id, completion, schema, document.text, offset)

    async def hover(self, document: Document, _offset: int, _: Asker) -> lsp.Hover | None:
        wait = await self._wait(document)
        return hover_of(shown_wait(wait)) if wait else None

    async def code_actions(self, document: Document, _start: int, _end: int, asker: Asker) -> Sequence[lsp.CodeAction]:
        """Wherever the cursor is; for plain clients alone, for they have no other way."""
        return [offer.action() for offer in await self._offers(document)] if asker.plain else []

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]:
        """The same, at the first line."""
        first = document.text.range(0, 0)
        return [offer.lens(first) for offer in await self._offers(document)] if asker.plain else []

    async def symbols(self, _document: Document, _: Asker) -> Sequence[lsp.DocumentSymbol]:
        return []

    async def _offers(self, document: Document) -> list[Offer]:
        wait = await self._wait(document)
        return list(call_offers(wait, document.uri)) if wait else []

    async def _wait(self, document: Document) -> Waiting | None:
        page, n = await self._page(document)
        return page.wait(n) if page else None

    async def _page(self, document: Document) -> tuple[Page | None, int]:
        name = read_name(document.path.name)
        return (await self._look(name.session_id), name.call or 0) if name else (None, 0)


def _diagnostic(document: Document, found: Finding) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=document.text.range(found.start, found.end),
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="abey",
        message=found.message,
    )
