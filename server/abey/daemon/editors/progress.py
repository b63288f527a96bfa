"""`$/progress`: what takes long says how it goes, where the editor shows it (LSP 3.17, Work Done Progress)."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types as lsp

from abey.rpc.faults import Unanswered
from abey.rpc.peer import Peer
from abey.rpc.structuring import unstructured

log = logging.getLogger(__name__)

Token = int | str
Value = lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd


class Progress:
    """One piece of work. Nothing is sent until the editor has it, and nothing ever where it cannot show it."""

    def __init__(self, peer: Peer, token: Token, begin: lsp.WorkDoneProgressBegin) -> None:
        self._peer = peer
        self._token = token
        self._begin = begin
        self._shown = False

    def show(self) -> None:
        self._shown = True
        self._send(self._begin)

    def report(self, message: str, percentage: int | None = None) -> None:
        """Plain text of one line; a percentage is 0 to 100 and never falls."""
        if self._shown:
            self._send(lsp.WorkDoneProgressReport(message=message, percentage=percentage))
        else:
            self._begin.message, self._begin.percentage = message, percentage

    def end(self, message: str | None = None) -> None:
        """Once; what comes later is not sent."""
        if self._shown:
            self._shown = False
            self._send(lsp.WorkDoneProgressEnd(message=message))

    def _send(self, value: Value) -> None:
        self._peer.notify(lsp.PROGRESS, unstructured(lsp.ProgressParams(self._token, value)))


class Progresses:
    """Of all clients: who has pressed which cancel button."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._cancels: dict[tuple[str, Token], Callable[[], None]] = {}

    @asynccontextmanager
    async def under_way(
        self, peer: Peer, token: Token | None, title: str, cancel: Callable[[], None] | None = None
    ) -> AsyncIterator[Progress]:
        """Progress for as long as the block takes, under the `workDoneToken` of the request or, where there is none,
        one that the client is asked to show. `cancel` is called when its person presses the button, at most once."""
        own = token if token is not None else f"abey-{next(self._numbers)}"
        begin = lsp.WorkDoneProgressBegin(title=title, cancellable=cancel is not None)
        progress = Progress(peer, own, begin)
        if cancel is not None:
            self._cancels[peer.id, own] = cancel
        asking = None
        if token is not None:
            progress.show()
        elif _shows(peer):
            asking = asyncio.create_task(_create(peer, own, progress))
        try:
            yield progress
        finally:
            if asking is not None:
                asking.cancel()
            progress.end()
            self._cancels.pop((peer.id, own), None)

    def cancelled(self, peer: Peer, params: lsp.WorkDoneProgressCancelParams) -> None:
        """A notice of the client; a token that is not, or no longer, under way means nothing."""
        if cancel := self._cancels.pop((peer.id, params.token), None):
            cancel()


def _shows(peer: Peer) -> bool:
    window = peer.editor.capabilities.window
    return bool(window and window.work_done_progress)


async def _create(peer: Peer, token: Token, progress: Progress) -> None:
    """The work does not wait for it: what is over before the editor answers is not shown at all."""
    try:
        await peer.ask(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, unstructured(lsp.WorkDoneProgressCreateParams(token)))
    except Unanswered as error:
        log.info("no progress is shown: %s", error)
        return
    progress.show()
