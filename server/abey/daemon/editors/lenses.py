"""`workspace/codeLens/refresh`: an editor is told to ask for its lenses again."""

import asyncio
import logging

from lsprotocol import types as lsp

from abey.rpc.faults import Unanswered
from abey.rpc.peer import Peer

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.1


class Lenses:
    """Of one client. However often a refresh is wanted, one is asked for at a time, and never one too few."""

    def __init__(self, peer: Peer, seconds: float = DEBOUNCE_SECONDS) -> None:
        self._peer = peer
        self._seconds = seconds
        self._wanted = False
        self._task: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        workspace = self._peer.editor.capabilities.workspace
        if workspace is None or workspace.code_lens is None or not workspace.code_lens.refresh_support:
            return
        self._wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._wanted:
            await asyncio.sleep(self._seconds)
            self._wanted = False
            try:
                await self._peer.ask(lsp.WORKSPACE_CODE_LENS_REFRESH, None)
            except Unanswered as error:
                log.info("the lenses stay as they are: %s", error)
