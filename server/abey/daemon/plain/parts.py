"""The methods behind the commands of plain editors: the same handlers that every client reaches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from abey.daemon.plain.pages import Pages
from abey.daemon.plain.telling import tell
from abey.daemon.plain.working import Work
from abey.daemon.services import Services
from abey.language.sessions.harmless import harmless_line
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.protocol.base import Json, Wire
from abey.protocol.methods import Method, P, R
from abey.protocol.session import Session
from abey.rpc.dispatch import Binding
from abey.rpc.peer import Peer


@dataclass(frozen=True, slots=True)
class Handlers:
    """`pages` are the sessions as their documents show them."""

    services: Services
    bindings: Mapping[str, Binding[Any, Any]]
    pages: Pages

    async def ask(self, method: Method[P, R], peer: Peer, params: P) -> R:
        """What the method answers. Raises what it raises."""
        result: R = await self.bindings[method.name].handle(peer, params)
        return result

    async def session(self, session_id: str) -> Session:
        """The session as it is now. Raises UnknownSession, SessionDamaged."""
        return self.services.show(await self.services.sessions.get(session_id))

    async def idle(self, peer: Peer, session_id: str, result: Wire) -> Json:
        """`result`, with the session as it is once no run drives it. Raises what the session refuses with."""
        return {**result.wire(), "session": await self.settled(peer, session_id)}

    async def settled(self, peer: Peer, session_id: str) -> Json:
        """The session once no run drives it; what went wrong in it is told. Raises what it refuses with after a write
        that failed."""
        live = await self.services.sessions.get(session_id)
        while live.machine.work.run is not None and live.failure is None:
            await live.changed.wait()
        if live.failure is not None:
            raise live.refusal()
        session = self.services.show(live)
        if (error := session.last_error) is not None:
            tell(peer, f"{error.kind}: {harmless_line(error.message, 500)}", lsp.MessageType.Error)
        return session.wire()

    def work(self, peer: Peer, session_id: str, title: str, standing: Callable[[Session], Json]) -> Work:
        """What takes long in a session; its cancel button ends the turn."""

        async def cancel() -> None:
            params = r.CancelParams(session_id=session_id, reason="cancelled in the editor")
            await self.ask(m.CANCEL, peer, params)

        async def stands() -> Json:
            return standing(await self.session(session_id))

        return Work(session_id, title, cancel, stands)


def started(session: Session) -> dict[str, Json]:
    """What a step or a run that goes on is answered with: the outcome of one that nobody waits for."""
    return {"outcome": "started", "session": session.wire()}
