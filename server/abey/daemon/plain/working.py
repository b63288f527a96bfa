"""What takes long: it says how it goes, and its request is answered soon.

Editors block while they wait for a command, and give up after some seconds. A command that is not done by then is
answered with how things stand, and its end is told in a message; what asks for progress under a token of its own waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from abey.core.machine import Machine
from abey.daemon.editors.commands import Token
from abey.daemon.editors.progress import Progress, Progresses
from abey.daemon.plain.telling import Errands, tell
from abey.errors import AbeyError
from abey.language.sessions.harmless import harmless_line
from abey.protocol.base import Json
from abey.rpc.peer import Peer

ANSWER_SECONDS = 3.0

Settle = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Work:
    """`title` names it for people; `cancel` is what the cancel button of its progress does; `standing` is the answer
    while it goes on."""

    session_id: str
    title: str
    cancel: Callable[[], Awaitable[Any]]
    standing: Callable[[], Awaitable[Json]]


class Working:
    """Of all plain clients."""

    def __init__(
        self, progresses: Progresses, errands: Errands, settle: Settle, seconds: float = ANSWER_SECONDS
    ) -> None:
        """`settle` brings the documents of a session up to date, so that an answer is never ahead of them."""
        self._settle = settle
        self._progresses = progresses
        self._errands = errands
        self._seconds = seconds
        self._shown: dict[str, list[Progress]] = {}
        self._last: dict[str, str] = {}

    async def do(self, peer: Peer, token: Token, what: Work, work: Coroutine[Any, Any, Json]) -> Json:
        """The result of the work, or how things stand by then. Raises what the work raises in time."""
        try:
            return await self._done(peer, token, what, work)
        finally:
            await self._settle(what.session_id)

    def changed(self, machine: Machine) -> None:
        """Says what the session does now, to who watches."""
        shown, activity = self._shown.get(machine.session.id, ()), machine.work.activity
        if shown and self._last.get(machine.session.id) != activity:
            self._last[machine.session.id] = activity
            for progress in shown:
                progress.report(f"{activity}; cancel ends the turn")

    async def _done(self, peer: Peer, token: Token, what: Work, work: Coroutine[Any, Any, Json]) -> Json:
        under_way = self._under_way(peer, token, what, work)
        if token is not None:
            return await under_way
        task = asyncio.create_task(under_way)
        try:
            done, _ = await asyncio.wait({task}, timeout=self._seconds)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done:
            return task.result()
        self._errands.run(_tell_end(peer, what, task))
        return await what.standing()

    async def _under_way(self, peer: Peer, token: Token, what: Work, work: Coroutine[Any, Any, Json]) -> Json:
        def cancel() -> None:
            self._errands.run(_cancel(peer, what))

        async with self._progresses.under_way(peer, token, what.title, cancel) as progress:
            self._shown.setdefault(what.session_id, []).append(progress)
            try:
                return await work
            finally:
                self._shown[what.session_id].remove(progress)
                if not self._shown[what.session_id]:
                    del self._shown[what.session_id]
                    self._last.pop(what.session_id, None)


async def _cancel(peer: Peer, what: Work) -> None:
    try:
        await what.cancel()
    except AbeyError as error:
        tell(peer, f"{what.title} is not cancelled: {error.message}", lsp.MessageType.Error)


async def _tell_end(peer: Peer, what: Work, task: "asyncio.Task[Json]") -> None:
    try:
        result = await task
    except AbeyError as error:
        tell(peer, f"{what.title} failed: {harmless_line(error.message, 500)}", lsp.MessageType.Error)
        return
    outcome = result.get("outcome") if isinstance(result, dict) else None
    tell(peer, f"{what.title} has ended{f': {outcome}' if isinstance(outcome, str) else ''}")
