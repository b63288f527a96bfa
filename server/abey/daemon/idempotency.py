"""Requests with a key: a repeat joins the one that runs, or is told what came of it (protocol.md, Idempotency keys)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from abey.core.idempotency import Keyed, Remembered, Requests, keyed_request, recall, refuse_another
from abey.core.ids import key_id, ulid
from abey.core.inputs import refuse_revision
from abey.daemon.services import Services
from abey.errors import DaemonGone, InvalidState, Replayed, SessionDamaged, UnknownSession
from abey.protocol import lines as li
from abey.protocol import requests as r
from abey.protocol.base import Json, Repeatable, Wire
from abey.protocol.journal import KeyedRequest
from abey.protocol.methods import Method
from abey.protocol.rules import RulesParams
from abey.rpc.dispatch import Binding, Handler, bind
from abey.rpc.peer import Peer
from abey.runtime.keeping import Keeping
from abey.runtime.live import Live
from abey.runtime.sessions import Sessions
from abey.shared.values import dataclass

E = TypeVar("E", bound=r.Effect)
T = TypeVar("T", bound=Repeatable)
W = TypeVar("W", bound=Wire)


Outcome = Mapping[str, Json]

LEFT_OVER_AT_MOST = 16
"""Crashes in the moment in which the session of one key was being made."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a request has come to: its session, and what it is answered besides, as the journal keeps it."""

    live: Live
    outcome: Outcome


Act = Callable[[Peer, E], Awaitable[Done]]
View = Callable[[E, Live, Outcome], T]
"""The answer out of an outcome; of a request that was interrupted the outcome is empty."""


@dataclass(frozen=True, slots=True)
class _Running:
    request: KeyedRequest
    task: "asyncio.Task[Any]"


class Repeats:
    """The requests with a key that run now, by session and key; what came of the others, their sessions know.

    No two tasks run under one key of a session: whether a key was used is never decided twice at the same time.
    """

    def __init__(self, services: Services, keeping: Keeping) -> None:
        self._services = services
        self._keeping = keeping
        self._running: dict[tuple[str, str], _Running] = {}

    def bind(self, method: Method[E, T], act: Act[E], view: View[E, T]) -> Binding[E, T]:
        """A method whose outcome is remembered: `act` does it, `view` makes the answer of what came of it."""

        async def fresh(peer: Peer, params: E) -> T:
            done = await act(peer, params)
            return view(params, done.live, done.outcome)

        async def answer(peer: Peer, params: E, session_id: str, request: KeyedRequest) -> T:
            remembered = recall(await self._remembered(session_id), request)
            if remembered is not None:
                return self._again(params, await self._services.sessions.get(session_id), remembered, view)
            await self._refuse_deleted(session_id, params)
            return await fresh(peer, params)

        return bind(method, self._once(method, fresh, answer))

    def join(self, method: Method[E, W], handle: Handler[E, W]) -> Binding[E, W]:
        """A method that records nothing in its session: a repeat joins it while it runs, and else does it again."""

        async def answer(peer: Peer, params: E, session_id: str, request: KeyedRequest) -> W:
            with suppress(SessionDamaged):
                recall(await self._remembered(session_id), request)
            return await handle(peer, params)

        return bind(method, self._once(method, handle, answer))

    async def close(self) -> None:
        """Nobody is answered any more."""
        tasks = [one.task for one in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _once(
        self,
        method: Method[E, W],
        without: Handler[E, W],
        answer: Callable[[Peer, E, str, KeyedRequest], Awaitable[W]],
    ) -> Handler[E, W]:
        async def handle(peer: Peer, asked_for: E) -> W:
            key = asked_for.idempotency_key
            if key is None:
                return await without(peer, asked_for)
            params = await self._spelled_out(asked_for)
            request = _request(method, params, key)
            session_id = await self._session_of(params, key)
            place = (session_id, key)
            running = self._running.get(place)
            if running is None:
                running = self._running[place] = self._begun(place, request, answer(peer, params, session_id, request))
            refuse_another(request, running.request.method, running.request.body_hash)
            return await _joined(running.task)

        return handle

    def _begun(self, place: tuple[str, str], request: KeyedRequest, work: Awaitable[Any]) -> _Running:
        """The request is the daemon's own: whoever asked may leave, and only ends a wait."""

        def over(task: "asyncio.Task[Any]") -> None:
            del self._running[place]
            if not task.cancelled():
                task.exception()  # retrieved: nobody may be waiting

        task = asyncio.ensure_future(work)
        task.add_done_callback(over)
        return _Running(request, task)

    async def _spelled_out(self, params: E) -> E:
        """With a key, the beginning of a token is the same request as the whole of it. Raises UnknownToken."""
        token = params.token if isinstance(params, r.CompleteParams | r.RunIsolatedParams) else None
        if token is None:
            return params
        return params.model_copy(update={"token": (await self._services.sessions.of_token(token))[1]})

    async def _session_of(self, params: r.Effect, key: str) -> str:
        """The session whose key it is; that of a request which makes one need not be there yet."""
        match params:
            case r.CompleteParams(token=str(token)) | r.RunIsolatedParams(token=str(token)):
                return (await self._services.sessions.of_token(token))[0].id
            case r.RunIsolatedParams(session_id=str(session_id)):
                return session_id
            case li.ForkParams():
                return await session_of_key(self._services.sessions, key)
            case r.SessionEffect():
                return params.session_id
            case RulesParams(session_id=str(session_id)):
                return session_id
            case r.NewSession():
                return params.session_id or await session_of_key(self._services.sessions, key)
            case _:
                raise TypeError(f"{type(params).__name__} has an effect on no session")

    async def _remembered(self, session_id: str) -> Requests:
        """Raises SessionDamaged where nobody can tell."""
        with suppress(UnknownSession):
            return (await self._services.sessions.get(session_id)).machine.session.requests
        return {}

    async def _refuse_deleted(self, session_id: str, params: r.Effect) -> None:
        """Raises InvalidState where the key has made a session that is in the trash now: it makes no second one."""
        makes_one = isinstance(params, li.ForkParams) or (isinstance(params, r.NewSession) and not params.session_id)
        if not makes_one:
            return
        if any(one.session_id == session_id for one in await self._keeping.trashed()):
            way_out = f"`abey session restore {session_id}` brings it back, and a new session needs a new key"
            message = f"session {session_id}, which this idempotencyKey has made, was deleted; {way_out}"
            raise InvalidState(message, sessionId=session_id)

    def _again(self, params: E, live: Live, remembered: Remembered, view: View[E, T]) -> T:
        """What a request is told that was asked before and has ended."""
        if remembered.outcome is None:
            return view(params, live, {}).model_copy(update={"interrupted": True})
        error = remembered.outcome.get("error")
        if error is not None:
            session = self._services.show(live)
            data = {**error["data"], "sessionId": session.session_id, "session": session.wire()}
            raise Replayed(error["code"], error["message"], data)
        return view(params, live, remembered.outcome).model_copy(update={"replayed": True})


async def _joined(task: "asyncio.Task[W]") -> W:
    """What it comes to. Who waits may be cancelled alone; the task itself is only when the daemon ends."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise DaemonGone("the daemon ended before this did; ask the next one under the same key") from None
        raise


def keyed(method: Method[E, Any], params: E, *, waits: bool = True) -> Keyed | None:
    """The request as the journal knows it, None without a key. What has its default counts as absent, and so does the
    hash of the call that was shown: once that was answered, who repeats the request cannot look at it any more."""
    key = params.idempotency_key
    return None if key is None else Keyed(_request(method, params, key), waits)


def _request(method: Method[E, Any], params: E, key: str) -> KeyedRequest:
    said = params.wire()
    for name, field in type(params).model_fields.items():
        if name in ("idempotency_key", "arguments_hash") or getattr(params, name) == field.default:
            said.pop(str(field.serialization_alias), None)
    return keyed_request(key, method.name, said)


async def session_of_key(sessions: Sessions, key: str) -> str:
    """The id of the session that a request with this key makes or has made, if it asks for no other one: the key's
    first, unless all that has it was left over by a crash, before anybody could be told of the session."""
    for number in range(LEFT_OVER_AT_MOST):
        session_id = key_id(f"session {number} {key}")
        try:
            if not await sessions.left_over(session_id):
                return session_id
        except UnknownSession:
            return session_id
    return key_id(f"session 0 {key}")


async def new_id(services: Services, params: r.NewSession) -> str:
    """The id of a new session: the one that was asked for, or that of the key, or one of ours."""
    if params.session_id is not None:
        return params.session_id
    return await fresh_id(services, params.idempotency_key)


async def fresh_id(services: Services, key: str | None) -> str:
    """The id of a new session that is asked for under none: that of the key, or one of ours."""
    if key is not None:
        return await session_of_key(services.sessions, key)
    return ulid(services.clock.millis(), services.clock.entropy())


async def refuse_made(services: Services, session_id: str, if_revision: int | None) -> None:
    """Raises RevisionConflict where the session was to be at another revision: before it is made it is at 0."""
    if if_revision is None:
        return
    revision = 0
    with suppress(UnknownSession):
        machine, _ = await services.sessions.look(session_id)
        revision = machine.session.revision
    refuse_revision(session_id, revision, if_revision)
