"""A new pending call asks in the editor of its folder, where that was asked for (protocol.md, Without a plugin).

Laws: it asks once, and one client, which is asked a few things at a time; nothing is approved by an answer; whatever is
no answer means *later*; what was answered elsewhere asks no more.
"""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types as lsp

from abey.core.machine import Machine
from abey.core.pending_views import pending_view
from abey.daemon.plain.opening import Opening
from abey.daemon.plain.parts import Handlers
from abey.daemon.plain.telling import Errands, tell
from abey.errors import AbeyError
from abey.language.sessions.names import Name
from abey.language.sessions.page import IN_DOCUMENTS
from abey.language.sessions.telling import in_a_line
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.protocol.base import Json
from abey.protocol.outcomes import DenyCall
from abey.protocol.transcript import Pending
from abey.rpc.faults import Unanswered
from abey.rpc.peer import Peer
from abey.rpc.structuring import unstructured

AT_ONCE = 5
"""Questions that stand in one client; the others wait for their turn."""

LATER, REVIEW, DENY = "Later", "Review", "Deny"
DENIED = ("approval", "external")
"""Kinds of calls that can be denied."""


class Asking:
    """Of one daemon: what it has asked, it asks nobody again."""

    def __init__(self, handlers: Handlers, opening: Opening, errands: Errands) -> None:
        self._handlers = handlers
        self._opening = opening
        self._errands = errands
        self._peers: dict[str, Peer] = {}
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._asked: dict[str, dict[str, asyncio.Task[None] | None]] = {}

    def joined(self, peer: Peer) -> None:
        if peer.plain and peer.options.ask is True:
            self._peers[peer.id] = peer
            self._rooms[peer.id] = asyncio.Semaphore(AT_ONCE)

    def left(self, peer: Peer) -> None:
        self._peers.pop(peer.id, None)
        self._rooms.pop(peer.id, None)

    def changed(self, machine: Machine) -> None:
        """The session is like this now: asks of what is new, and withdraws what waits no more."""
        session_id = machine.session.id
        asked = self._asked.get(session_id)
        if not self._peers and not asked:
            return
        waiting = {one.token: one for one in pending_view(machine.session, None) if one.kind in IN_DOCUMENTS}
        for token, task in (asked or {}).items():
            if token not in waiting and task is not None:
                task.cancel()
        for token, pending in waiting.items():
            if token not in (asked or {}) and (peer := self._whose(pending.cwd)) is not None:
                task = self._errands.run(self._ask(peer, pending, self._rooms[peer.id]))
                self._asked.setdefault(session_id, {})[token] = task

    def gone(self, session_id: str) -> None:
        """The session was deleted."""
        for task in self._asked.pop(session_id, {}).values():
            if task is not None:
                task.cancel()

    def _whose(self, cwd: str) -> Peer | None:
        """The client with the folder that holds `cwd` most closely; of several the one that came first."""
        depths = [(_depth(peer.editor.folders, cwd), peer) for peer in self._peers.values()]
        best = max((depth for depth, _ in depths), default=0)
        return next((peer for depth, peer in depths if depth == best), None) if best else None

    async def _ask(self, peer: Peer, pending: Pending, room: asyncio.Semaphore) -> None:
        titles = [LATER, REVIEW, *([DENY] if pending.kind in DENIED else [])]
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Info,
            message=in_a_line(pending),
            actions=[lsp.MessageActionItem(title) for title in titles],
        )
        try:
            async with room:
                answer = await peer.ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, unstructured(params))
        except Unanswered:
            return
        self._answered(pending)
        try:
            await self._take(peer, pending, answer)
        except AbeyError as error:
            tell(peer, error.message, lsp.MessageType.Error)

    def _answered(self, pending: Pending) -> None:
        """The question stands no more; what is done about its answer is not withdrawn with the call."""
        if (asked := self._asked.get(pending.session_id)) is not None:
            asked[pending.token] = None

    async def _take(self, peer: Peer, pending: Pending, answer: Json) -> None:
        said = answer.get("title") if isinstance(answer, dict) else None
        if said == DENY and pending.kind in DENIED:
            params = r.CompleteParams(token=pending.token, outcome=DenyCall())
            await self._handlers.ask(m.COMPLETE, peer, params)
        elif said == REVIEW:
            page = await self._handlers.pages.read(pending.session_id)
            n = next((one.n for one in page.waiting if one.pending.token == pending.token), None)
            await self._opening.open(peer, Name(pending.session_id, n))


def _depth(folders: Iterable[Path], cwd: str) -> int:
    """How many names the longest of the folders has that hold `cwd`; 0 where none does."""
    real = Path(os.path.realpath(cwd))
    held = (folder for folder in folders if real.is_relative_to(os.path.realpath(folder)))
    return max((len(folder.parts) for folder in held), default=0)
