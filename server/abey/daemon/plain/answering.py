"""`abey.complete`: a call is answered with params, or with what is written in its document."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from abey.daemon.editors.commands import Token
from abey.daemon.editors.desk import Desk
from abey.daemon.plain.documents import Documents
from abey.daemon.plain.parts import Handlers
from abey.daemon.plain.targets import document_name, refusal
from abey.daemon.plain.telling import tell
from abey.daemon.plain.working import Working
from abey.errors import ArgumentsMismatch, InvalidState
from abey.language.language import Document
from abey.language.sessions.argument_findings import answered
from abey.language.sessions.arguments import DECISIONS, Decision, outcome, title
from abey.language.sessions.harmless import harmless_line
from abey.language.sessions.names import Name
from abey.language.sessions.page import Waiting
from abey.protocol import methods as m
from abey.protocol import requests as r
from abey.protocol.base import Json
from abey.rpc.dispatch import validated
from abey.rpc.peer import Peer

Later = Coroutine[Any, Any, Json]

WANTED = 'the params of agents/complete, or {"document": "<the document of a call>", "decision": "…", "resume": true}'
LOOK_AGAIN = "the call is not as it was when its document was written; look at it again, then answer again"


@dataclass(frozen=True, slots=True)
class Said:
    """What is done with the document of a call, as it was when it was said; without `resume` the session goes on if a
    run drove it last."""

    name: Name
    decision: Decision
    document: Document | None
    resume: bool | None


class Answering:
    """Goes the way of agents/complete. What was shown is bound to the hash kept with the document, never to one that a
    client computes."""

    def __init__(self, handlers: Handlers, desk: Desk, documents: Documents, working: Working) -> None:
        self._handlers = handlers
        self._desk = desk
        self._documents = documents
        self._working = working

    def complete(self, peer: Peer, arguments: list[Json], token: Token) -> Later:
        """A Command. What stands in the open document is what it says now."""
        match arguments:
            case [{"document": str(text), "decision": str(said), **rest}] if rest.keys() <= {"resume"}:
                name = document_name(text, self._handlers.pages.folder)
                decision = next((one for one in DECISIONS if one == said), None)
                resume = rest.get("resume")
                if name is None or name.call is None or decision is None or not isinstance(resume, bool | None):
                    raise refusal("abey.complete", arguments, WANTED)
                document = self._desk.document(peer, self._documents.path(name))
                return self._decide(peer, Said(name, decision, document, resume), token)
            case [dict() as params]:
                return self._complete(peer, validated(m.COMPLETE, params), token)
            case _:
                raise refusal("abey.complete", arguments, WANTED)

    async def _complete(self, peer: Peer, params: r.CompleteParams, token: Token) -> Json:
        live, _ = await self._handlers.services.sessions.of_token(params.token)
        return await self._answer(peer, live.id, "Complete", params, token)

    async def _decide(self, peer: Peer, said: Said, token: Token) -> Json:
        """Raises InvalidState for a call that waits no more, ArgumentsMismatch for one that is not as it was shown."""
        name, decision, document = said.name, said.decision, said.document
        waiting = await self._waiting(name)
        text = document.text.source if document else await self._documents.text(name)
        memo = await self._documents.memo(name)
        if text is None or memo is None or memo.token != waiting.pending.token:
            raise await self._mismatch(name)
        decided = await self._handlers.services.registry.aside.run(outcome, waiting.pending, decision, text)
        resume = said.resume
        if resume is None:
            resume = (await self._handlers.session(name.session_id)).driven_by == "run"
        params = r.CompleteParams(
            token=memo.token,
            outcome=decided,
            arguments_hash=memo.arguments_hash if decision in ("approve", "rerun", "answer") else None,
            resume=resume,
        )
        what = f"{title(waiting.pending, decision)}: {harmless_line(waiting.pending.tool, 60)}"
        try:
            return await self._answer(peer, name.session_id, what, params, token)
        except ArgumentsMismatch:
            raise await self._mismatch(name) from None

    async def _answer(self, peer: Peer, session_id: str, what: str, params: r.CompleteParams, token: Token) -> Json:
        async def answer() -> Json:
            result = await self._handlers.ask(m.COMPLETE, peer, params)
            if not result.applied:
                tell(peer, f"{what} came too late: it was {result.resolution.text}", lsp.MessageType.Warning)
            return result.wire()

        work = self._handlers.work(peer, session_id, what, lambda session: {"session": session.wire()})
        return await self._working.do(peer, token, work, answer())

    async def _waiting(self, name: Name) -> Waiting:
        page = await self._handlers.pages.read(name.session_id)
        waiting = page.wait(name.call or 0)
        if waiting is None:
            fact = answered(page.call(name.call or 0), "").message
            raise InvalidState(fact, sessionId=name.session_id, state=page.session.state)
        return waiting

    async def _mismatch(self, name: Name) -> ArgumentsMismatch:
        """The document is about the call as it is from now on; to be raised."""
        waiting = await self._waiting(name)
        await self._documents.renew(waiting)
        await self._documents.open(name.session_id)
        return ArgumentsMismatch(LOOK_AGAIN, argumentsHash=waiting.pending.arguments_hash)
