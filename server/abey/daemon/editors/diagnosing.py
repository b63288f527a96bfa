"""Diagnostics that are pushed: a little after the last change, one computation a document."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from abey.rpc.peer import Peer
from abey.rpc.structuring import unstructured

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.1
MOST = 500
"""More diagnostics of one document are not shown."""

Found = tuple[int | None, Sequence[lsp.Diagnostic]]
"""The version of the document, and what was found in it."""
Look = Callable[[], Awaitable[Found | None]]
"""None: the document is gone."""


@dataclass(slots=True, eq=False)
class Looking:
    """A computation that is due or under way; `again` if it is to be done over once it has ended."""

    task: asyncio.Task[None] | None = None
    began: bool = False
    again: bool = False


class Diagnosing:
    """The documents of one client. What was computed of a version that is no more is never shown."""

    def __init__(self, peer: Peer, seconds: float = DEBOUNCE_SECONDS) -> None:
        self._peer = peer
        self._seconds = seconds
        self._lookings: dict[str, Looking] = {}

    def soon(self, uri: str, look: Look) -> None:
        """The document changed: looks once it has not for a moment, and drops what was computed of it before."""
        self._drop(uri)
        looking = self._lookings[uri] = Looking()
        looking.task = asyncio.create_task(self._run(uri, looking, look))

    def again(self, uri: str, look: Look) -> None:
        """Something else changed than the document: looks soon, however often this is said meanwhile."""
        looking = self._lookings.get(uri)
        if looking is None:
            self.soon(uri, look)
        elif looking.began:
            looking.again = True

    def clear(self, uri: str) -> None:
        """The document was closed: nothing is shown of it any more."""
        self._drop(uri)
        self._publish(uri, None, ())

    def end(self) -> None:
        for uri in tuple(self._lookings):
            self._drop(uri)

    async def _run(self, uri: str, looking: Looking, look: Look) -> None:
        await asyncio.sleep(self._seconds)
        looking.began = True
        try:
            found = await look()
        except Exception:
            log.exception("the diagnostics of a document failed")
            found = None
        if self._lookings.get(uri) is not looking:
            return
        del self._lookings[uri]
        if found is not None:
            self._publish(uri, *found)
        if looking.again:
            self.soon(uri, look)

    def _drop(self, uri: str) -> None:
        looking = self._lookings.pop(uri, None)
        if looking and looking.task:
            looking.task.cancel()

    def _publish(self, uri: str, version: int | None, diagnostics: Sequence[lsp.Diagnostic]) -> None:
        params = lsp.PublishDiagnosticsParams(uri, list(diagnostics[:MOST]), version)
        self._peer.notify(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, unstructured(params))
