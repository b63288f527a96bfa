"""A call that is under way, and what its server asks a person meanwhile (machine.md, Completing)."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from abey.protocol.base import Json
from abey.protocol.transcript import Question
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.tools.mcp.limit import TimeLimit
from abey.shared.escaping import cut

LONGEST_PROMPT = 10_000
MOST_FIELDS = 100


class CallOver(Exception):
    """The call ended before anybody answered."""


class UnderWay:
    """One call, from its start to its end: then nobody is asked for it any more."""

    def __init__(self, call: ToolCall, limit: TimeLimit) -> None:
        self._call = call
        self._limit = limit
        self._turn = asyncio.Lock()
        self._questions: set[asyncio.Future[Json]] = set()
        self._over = False

    @property
    def is_asking(self) -> bool:
        return bool(self._questions)

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        if not self._over:
            self._call.tell(Progress(message=message, done=done, total=total))

    def say(self, message: str) -> None:
        """A line for people."""
        self._call.tell(Progress(message=message))

    async def ask(self, prompt: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """What a person answers, None where nobody wants to. They may take days: the call's time stands still. One
        question at a time. Raises CallOver."""
        if self._over:
            raise CallOver
        question = Question.model_validate(
            {"kind": "response", "prompt": cut(prompt, LONGEST_PROMPT), "schema": dict(schema)}
        )
        asking = asyncio.ensure_future(self._asked(question))
        self._questions.add(asking)
        try:
            with self._limit.paused():
                value = await asking
        except asyncio.CancelledError:
            if not self._over:
                raise
            raise CallOver from None
        finally:
            asking.cancel()
            self._questions.discard(asking)
        return value if isinstance(value, dict) else None

    def paused(self) -> AbstractContextManager[None]:
        """Its time stands still meanwhile."""
        return self._limit.paused()

    def end(self) -> None:
        self._over = True
        for asking in self._questions:
            asking.cancel()

    async def _asked(self, question: Question) -> Json:
        async with self._turn:
            return await self._call.ask(question)
