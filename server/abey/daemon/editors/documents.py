"""The open documents of one client, as its editor has them, saved or not."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp

from abey.language.language import Document
from abey.language.text import Encoding, Text
from abey.runtime.agents.files import MAX_BYTES
from abey.shared.uris import path_of

log = logging.getLogger(__name__)

MOST = 256
"""More open documents of one client are not looked at."""

PIECES_OF = 1 << 23
"""So many characters are gone through for the partial changes of one notification: whole texts are what was offered."""

Change = lsp.TextDocumentContentChangePartial | lsp.TextDocumentContentChangeWholeDocument


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A document that is open, and not looked at: it is too large, or was changed in too many pieces at once."""

    uri: str
    path: Path
    version: int


class Documents:
    """By the URI that the client gave. Kept are those that have a path (no `untitled:`) which some language speaks."""

    def __init__(self, name: str, encoding: Encoding, is_spoken: Callable[[Path], bool]) -> None:
        self._name = name
        self._encoding = encoding
        self._is_spoken = is_spoken
        self._open: dict[str, Document | TooLarge] = {}

    def __iter__(self) -> Iterator[Document | TooLarge]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | TooLarge | None:
        """What is open under that URI, None where nothing is kept."""
        return self._open.get(uri)

    def at(self, path: Path) -> Document | TooLarge | None:
        """The open document of that path."""
        return next((one for one in self if one.path == path), None)

    def open(self, item: lsp.TextDocumentItem) -> None:
        """A document that is open already is taken as it is now."""
        path = self._spoken(item.uri)
        if path is None:
            return
        if item.uri not in self._open and len(self._open) >= MOST:
            log.warning("%s has %d documents open: one more is not looked at", self._name, MOST)
            return
        self._put(item.uri, path, item.version, item.text)

    def change(self, document: lsp.VersionedTextDocumentIdentifier, changes: Sequence[Change]) -> None:
        """Takes the changes one after the other; of a document that was not opened nothing is known, nor will be."""
        held = self._open.get(document.uri)
        if held is None:
            log.debug("%s changed a document that is not kept", self._name)
            return
        text = held.text.source if isinstance(held, Document) else None
        left = PIECES_OF
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
                text = change.text
            elif text is not None:
                left -= len(text)
                text = _replaced(Text(text, self._encoding), change) if left >= 0 else None
        self._put(document.uri, held.path, document.version, text)

    def close(self, uri: str) -> bool:
        """Whether it was kept."""
        return self._open.pop(uri, None) is not None

    def _spoken(self, uri: str) -> Path | None:
        """The path as the editor spells it, or else the real one: some editors follow links, and some do not."""
        path = path_of(uri)
        if path is None or self._is_spoken(path):
            return path
        real = Path(os.path.realpath(path))
        return real if self._is_spoken(real) else None

    def _put(self, uri: str, path: Path, version: int, source: str | None) -> None:
        if source is None or _is_too_large(source):
            self._open[uri] = TooLarge(uri, path, version)
        else:
            self._open[uri] = Document(uri, path, version, Text(source, self._encoding))


def _replaced(text: Text, change: lsp.TextDocumentContentChangePartial) -> str:
    start, end = sorted((text.offset(change.range.start), text.offset(change.range.end)))
    return text.source[:start] + change.text + text.source[end:]


def _is_too_large(source: str) -> bool:
    return len(source) > MAX_BYTES or len(source.encode("utf-8", "surrogatepass")) > MAX_BYTES
