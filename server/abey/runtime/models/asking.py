"""A model behind HTTP: the shell around the wire forms."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from abey.core.conversation import ModelAnswer, ModelRequest
from abey.errors import ModelFailed
from abey.protocol.config import HttpModel
from abey.runtime.models.attachments import inlined
from abey.runtime.models.bodies import AnswerBody
from abey.runtime.models.dialects import assembly_of, body_of, has_key, headers_of
from abey.runtime.models.failures import failure_of, json_of
from abey.runtime.models.http import Post, Reply, posted
from abey.runtime.models.naming import own_names
from abey.runtime.models.network import Network
from abey.runtime.models.places import place_of
from abey.runtime.models.privacy import without_secrets
from abey.runtime.models.strictness import misfit_of
from abey.runtime.models.waits import retry_after_ms
from abey.runtime.ports import Clock, OnDelta
from abey.shared.escaping import cut, escape_line

IDLE_SECONDS = 120.0
"""Without a byte for so long, an answer is given up."""

MOST_ERROR_BYTES = 64 * 1024
MOST_WORDS = 4000
SHOWN = 400
"""Characters of a provider's message: looked at, and passed on."""

_LOOKS = 4

FindKey = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Asking:
    """A ports.Model. `key` finds the key, in a thread, when a call is made; raises ModelFailed."""

    model: HttpModel
    key: FindKey
    network: Network
    clock: Clock

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """One exchange. Files and key are read before anything is sent; nothing is of a history that makes no sense."""
        misfit = misfit_of(request)
        if misfit is not None:
            raise ModelFailed("invalid-request", misfit)
        place = place_of(self.model)
        request = await asyncio.to_thread(inlined, request)
        body = await asyncio.to_thread(body_of, self.model, place, request)
        key = await asyncio.to_thread(self.key)
        post = Post(place.url, headers_of(self.model, place, key), body)
        try:
            answer = await self._exchange(post, AnswerBody(assembly_of(self.model, place)(on_delta)))
        except ModelFailed as failure:
            raise await asyncio.to_thread(_private, failure, key, request) from None
        return with_own_names(answer, request)

    async def _exchange(self, post: Post, body: AnswerBody) -> ModelAnswer:
        watch = Watch(self.clock)
        async with watch.over(post.where), posted(post, self.network) as reply:
            watch.seen()
            if reply.status not in (200, 201):
                raise await self._refusal(reply, post)
            async with aclosing(reply.chunks) as chunks:
                async for chunk in chunks:
                    watch.seen()
                    body.feed(chunk)
                    if body.done:
                        break
            return body.end()

    async def _refusal(self, reply: Reply, post: Post) -> ModelFailed:
        """The failure that a reply with another status tells of."""
        read = bytearray()
        with suppress(ModelFailed):  # of a body that breaks off, the status is enough
            async with aclosing(reply.chunks) as chunks:
                async for chunk in chunks:
                    read += chunk
                    if len(read) > MOST_ERROR_BYTES:
                        break
        wait = retry_after_ms(reply.headers, datetime.fromisoformat(self.clock.now()))
        details = {} if wait is None else {"retryAfterMs": wait}
        key = "a key was sent" if has_key(post.headers) else "no key was sent"
        return failure_of(reply.status, json_of(bytes(read)), details, post.where, key)


class Watch:
    """Gives an exchange up when nothing has been seen of it for IDLE_SECONDS."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen = 0

    def seen(self) -> None:
        self._seen += 1

    @asynccontextmanager
    async def over(self, where: str) -> AsyncIterator[None]:
        """Raises ModelFailed (`timeout`) inside."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                watcher = asyncio.create_task(self._wait(scope))
                try:
                    yield
                finally:
                    watcher.cancel()
        except TimeoutError:
            if not scope.expired():
                raise
            raise ModelFailed("timeout", f"{where} has sent nothing for {IDLE_SECONDS:g} seconds") from None

    async def _wait(self, scope: asyncio.Timeout) -> None:
        """Looks a few times in each period, so that no timer is set for each chunk."""
        quiet = 0
        while quiet < _LOOKS:
            before = self._seen
            await self._clock.sleep(IDLE_SECONDS / _LOOKS)
            quiet = quiet + 1 if self._seen == before else 0
        scope.reschedule(asyncio.get_running_loop().time())


def with_own_names(answer: ModelAnswer, request: ModelRequest) -> ModelAnswer:
    """The answer, its calls under the names that the tools have here."""
    names = own_names(tool.name for tool in request.tools)
    return replace(answer, calls=tuple(replace(call, tool=names.get(call.tool, call.tool)) for call in answer.calls))


def _private(failure: ModelFailed, key: str | None, request: ModelRequest) -> ModelFailed:
    """The failure in one short line, without the key and without what was said. Slow with a long history."""
    said = without_secrets(failure.message[:MOST_WORDS], key, request)
    return ModelFailed(failure.model_code, cut(escape_line(said), SHOWN), **failure.details)
