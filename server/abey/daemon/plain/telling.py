"""What a plain editor is told and shown: messages, and documents to open."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp

from abey.rpc.faults import Unanswered
from abey.rpc.peer import Peer
from abey.rpc.structuring import unstructured
from abey.shared.escaping import escape
from abey.shared.uris import uri_of

log = logging.getLogger(__name__)

T = TypeVar("T")


def tell(peer: Peer, message: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
    """A message to whoever sits there; hostile text in it is escaped."""
    params = lsp.ShowMessageParams(type=kind, message=escape(message))
    peer.notify(lsp.WINDOW_SHOW_MESSAGE, unstructured(params))


class Errands:
    """What goes on beside the requests of clients, and ends with the daemon."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Nobody waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """What it returns or raises; it goes on though its client gives up waiting."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def show(self, peer: Peer, path: Path, what: str) -> None:
        """Opens a document where the client can; else its path is told, as the end of a message. That is said at once,
        before the command is answered: Emacs 28 leaves what comes in one piece with an answer until more comes."""
        window = peer.editor.capabilities.window
        if window and window.show_document and window.show_document.support:
            self.run(_show(peer, path, what))
        else:
            tell(peer, f"{what}: {path}")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an errand to a client failed", exc_info=error)


async def _show(peer: Peer, path: Path, what: str) -> None:
    params = unstructured(lsp.ShowDocumentParams(uri=uri_of(path), take_focus=True))
    try:
        answer = await peer.ask(lsp.WINDOW_SHOW_DOCUMENT, params)
    except Unanswered as error:
        log.info("%s does not show a document: %s", peer.id, error)
    else:
        if isinstance(answer, dict) and answer.get("success") is True:
            return
    tell(peer, f"{what}: {path}")
