"""`abey.open`, `abey.pending`, `abey.start`: from nothing to a document in which a session goes on."""

from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from abey.daemon.editors.commands import Command, Token
from abey.daemon.editors.desk import Desk
from abey.daemon.plain.documents import Documents
from abey.daemon.plain.parts import Handlers
from abey.daemon.plain.targets import document_name, member, params_of, refusal
from abey.daemon.plain.telling import Errands, tell
from abey.daemon.plain.working import Working
from abey.errors import InvalidState
from abey.language.sessions.harmless import harmless_line
from abey.language.sessions.names import Name, read_name
from abey.language.sessions.telling import in_a_line
from abey.protocol import methods as m
from abey.protocol import queries as q
from abey.protocol.base import Json
from abey.rpc.dispatch import validated
from abey.rpc.peer import Peer
from abey.shared.uris import path_of, uri_of

SHOWN = 20
"""Pending calls that a message lists."""

Later = Coroutine[Any, Any, Json]


class Opening:
    """What is opened is shown in the editor, for most of them show no results of commands."""

    def __init__(
        self, handlers: Handlers, desk: Desk, documents: Documents, working: Working, errands: Errands
    ) -> None:
        self._handlers = handlers
        self._desk = desk
        self._documents = documents
        self._working = working
        self._errands = errands

    @property
    def table(self) -> Mapping[str, Command]:
        return {"abey.open": self._open, "abey.pending": self._pending, "abey.start": self._start}

    async def open(self, peer: Peer, name: Name) -> Path:
        """Writes a document and shows it. Raises InvalidState for a call that waits for nobody."""
        await self._documents.open(name.session_id)
        page = await self._handlers.pages.read(name.session_id)
        path = self._documents.path(name)
        if name.call is not None and page.wait(name.call) is None:
            message = f"call {name.call} of session {name.session_id} has no document: it waits for nobody"
            raise InvalidState(message, sessionId=name.session_id)
        self._errands.show(peer, path, harmless_line(page.session.title, 80))
        return path

    async def _open(self, peer: Peer, arguments: list[Json], _: Token) -> Json:
        params = params_of("abey.open", arguments, self._folder)
        call = member("abey.open", params, "call", int, "the number of a call, with its sessionId")
        if call is None and isinstance(arguments[0], str):
            named = document_name(arguments[0], self._folder)
            call = named.call if named else None
        wanted = validated(m.GET, params)
        path = await self.open(peer, Name(wanted.session_id, call))
        return {"path": str(path), "uri": uri_of(path)}

    async def _pending(self, peer: Peer, arguments: list[Json], _: Token) -> Json:
        params = params_of("abey.pending", arguments, self._folder) if arguments else {}
        result = await self._handlers.ask(m.PENDING, peer, validated(m.PENDING, params))
        if peer.plain:
            tell(peer, _listed(result))
        return result.wire()

    def _start(self, peer: Peer, arguments: list[Json], token: Token) -> Later:
        return self._started(peer, self._start_params(peer, arguments), token)

    async def _started(self, peer: Peer, params: dict[str, Json], token: Token) -> Json:
        """The session is there at once; what it is to do goes on from there."""
        wanted = validated(m.START, params)
        waiting = wanted.wait and wanted.run != "none"
        session = await self._handlers.ask(m.START, peer, wanted.model_copy(update={"wait": False}))
        session_id = session.session_id
        await self.open(peer, Name(session_id))
        if not waiting:
            return session.wire()
        title = f"Start: {harmless_line(session.title, 80)}"
        work = self._handlers.work(peer, session_id, title, lambda now: now.wire())
        return await self._working.do(peer, token, work, self._handlers.settled(peer, session_id))

    def _start_params(self, peer: Peer, arguments: list[Json]) -> dict[str, Json]:
        match arguments:
            case []:
                params: dict[str, Json] = {}
            case [dict() as given]:
                params = dict(given)
            case [str() as text] if text:
                path = path_of(text) or (Path(text) if text.startswith("/") else None)
                params = {"agent": text} if path is None else {"agentFile": str(path)}
            case _:
                wanted = 'the params of agents/start, such as {"agent": "…", "prompt": "…"}, an agent or its file'
                raise refusal("abey.start", arguments, wanted)
        if not params.keys() & {"agent", "agentFile", "config"}:
            params |= self._agent_at_hand(peer)
        if "cwd" not in params and (folder := self._folder_at_hand(peer)) is not None:
            params["cwd"] = str(folder)
        return params

    def _agent_at_hand(self, peer: Peer) -> dict[str, Json]:
        """The agent file that is open, if it is one, else the agent `default`."""
        found = [one for one in self._desk.paths(peer) if read_name(one.name) is None]
        return {"agentFile": str(found[0])} if len(found) == 1 else {"agent": "default"}

    def _folder_at_hand(self, peer: Peer) -> Path | None:
        """The first folder that the editor has open, but for those of ours: editors take the folder of the file at
        hand for a workspace."""
        settings = self._handlers.services.settings
        ours = (settings.state_dir, settings.config_dir)
        folders = [one for one in peer.editor.folders if not any(one.is_relative_to(folder) for folder in ours)]
        return next((one for one in folders if one.is_dir()), None)

    @property
    def _folder(self) -> Path:
        return self._handlers.pages.folder


def _listed(result: q.PendingResult) -> str:
    """The pending calls, for a message."""
    if not result.items:
        return "no call waits for anybody"
    shown = result.items[:SHOWN]
    more = len(result.items) - len(shown)
    lines = [f"session {one.session_id}: {in_a_line(one)}" for one in shown]
    rest = [f"and {more} more on this page"] if more else []
    return "\n".join((*lines, *rest, "abey.open with the id of a session shows what waits in it"))
