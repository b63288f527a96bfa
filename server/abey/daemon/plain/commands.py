"""The commands of `workspace/executeCommand` that move sessions: what editors without a plugin have for our methods."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from abey.daemon.editors.commands import Command, Token
from abey.daemon.plain.composing import Composing, Draft
from abey.daemon.plain.parts import Handlers, started
from abey.daemon.plain.targets import document_name, params_of
from abey.daemon.plain.telling import tell
from abey.daemon.plain.working import Work, Working
from abey.errors import InvalidArguments
from abey.language.sessions.harmless import harmless_line
from abey.language.sessions.offers import CANCEL, RUN, SEND, STEP, why_unmoved
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.protocol.base import Json
from abey.protocol.methods import Method
from abey.protocol.session import Session
from abey.rpc.dispatch import validated
from abey.rpc.peer import Peer

NOTHING = "there is nothing below the composer line to be sent; write it there, and try again"

UNMOVED = ("waiting", "paused", "completed")
"""Outcomes of steps and runs that may have done nothing."""

Later = Coroutine[Any, Any, Json]
P = TypeVar("P", r.StepParams, r.RunParams)


class Commands:
    """Each takes one argument: the params of its method, or the id or the document of a session. What stands in an
    open document is looked at when the command arrives, not later."""

    def __init__(self, handlers: Handlers, composing: Composing, working: Working) -> None:
        self._handlers = handlers
        self._composing = composing
        self._working = working

    @property
    def table(self) -> Mapping[str, Command]:
        return {
            SEND: partial(self._on_session, SEND, self._send),
            STEP: partial(self._on_session, STEP, self._step),
            RUN: partial(self._on_session, RUN, self._run),
            CANCEL: partial(self._on_session, CANCEL, self._cancel),
        }

    def _on_session(self, name: str, act: Any, peer: Peer, arguments: list[Json], token: Token) -> Later:
        folder = self._handlers.pages.folder
        params = params_of(name, arguments, folder)
        session_id = params.get("sessionId")
        by_document = isinstance(arguments[0], str) and document_name(arguments[0], folder) is not None
        draft = None
        if isinstance(session_id, str) and (by_document or name == SEND):
            draft = self._composing.draft(peer, session_id)
        later: Later = act(peer, params, draft, token)
        return later

    async def _send(self, peer: Peer, params: dict[str, Json], draft: Draft | None, token: Token) -> Json:
        """What the composer says, and a turn of the session; params that say themselves what is to be sent go as
        they are."""
        if draft is None or params.keys() & {"prompt", "parts"}:
            sent = await self._deliver(peer, params)
        else:
            params = {"run": "turn", **params}
            composed = await self._composing.send(
                peer, draft, lambda message: self._deliver(peer, {**params, "prompt": message})
            )
            if composed is None:
                raise InvalidArguments(NOTHING, errors=["nothing is written"])
            sent = composed
        if params.get("run", "none") == "none":
            return sent.wire()
        work = self._work(peer, sent.session, "Turn", lambda now: {**sent.wire(), "session": now.wire()})
        return await self._working.do(peer, token, work, self._handlers.idle(peer, sent.session.session_id, sent))

    async def _step(self, peer: Peer, params: dict[str, Json], draft: Draft | None, token: Token) -> Json:
        """A step; of a session whose turn has ended it begins a turn with what the composer says."""
        wanted = validated(m.STEP, params)
        session = await self._handlers.session(wanted.session_id)
        said = "prompt" in params or "parts" in params
        if draft is not None and not said and session.state == "completed" and session.activity == "idle":
            await self._take(peer, draft)
        work = self._work(peer, session, "Step", started)
        return await self._working.do(peer, token, work, self._driven(m.STEP, peer, wanted))

    async def _run(self, peer: Peer, params: dict[str, Json], draft: Draft | None, token: Token) -> Json:
        """A run; of a session whose turn has ended it begins a turn with what the composer says."""
        wanted = validated(m.RUN, params)
        session = await self._handlers.session(wanted.session_id)
        if draft is not None and session.state == "completed" and session.activity == "idle":
            await self._take(peer, draft)
        work = self._work(peer, session, "Run", lambda now: {**started(now), "steps": 0})
        return await self._working.do(peer, token, work, self._driven(m.RUN, peer, wanted))

    async def _cancel(self, peer: Peer, params: dict[str, Json], _draft: Draft | None, _token: Token) -> Json:
        result = await self._handlers.ask(m.CANCEL, peer, validated(m.CANCEL, params))
        if not result.applied and peer.plain:
            tell(peer, "nothing was cancelled: no turn is open")
        return result.wire()

    async def _driven(self, method: Method[P, Any], peer: Peer, params: P) -> Json:
        """What a step or a run answers. Where it did nothing whoever sits there is told why, for editors show no
        results of commands."""
        session_id = params.session_id
        before = await self._handlers.session(session_id)
        result = await self._handlers.ask(method, peer, params)
        if peer.plain and result.outcome in UNMOVED and result.session.revision == before.revision:
            tell(peer, f"nothing was done: {why_unmoved(await self._handlers.pages.read(session_id))}")
        answer: Json = result.wire()
        return answer

    async def _deliver(self, peer: Peer, params: dict[str, Json]) -> r.SendResult:
        wanted = validated(m.SEND, params)
        return await self._handlers.ask(m.SEND, peer, wanted.model_copy(update={"wait": False}))

    async def _take(self, peer: Peer, draft: Draft) -> None:
        """What the composer says becomes input, if it says anything."""
        session_id = draft.session_id
        await self._composing.send(
            peer, draft, lambda message: self._deliver(peer, {"sessionId": session_id, "prompt": message})
        )

    def _work(self, peer: Peer, session: Session, what: str, standing: Callable[[Session], Json]) -> Work:
        return self._handlers.work(peer, session.session_id, f"{what}: {harmless_line(session.title, 80)}", standing)
