"""Rules that were just remembered are applied to what waits already, in every session that they are about."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from abey.core.events import ChangeRules
from abey.core.remembering import is_about, might_decide
from abey.errors import AbeyError
from abey.protocol.policy import Rule
from abey.runtime.remembering import Remembering
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions

log = logging.getLogger(__name__)

Waiting = Callable[[Sequence[Rule]], Awaitable[Sequence[str]]]
"""The ids of the sessions, in memory or not, in which calls may wait for something that one of the rules decides."""


class Applying:
    """A rule that a daemon could not apply before it died is applied together with the next one, or with the next
    answer to any call: nothing starts by itself."""

    def __init__(self, remembering: Remembering, sessions: Sessions, scheduler: Scheduler, waiting: Waiting) -> None:
        self._remembering = remembering
        self._sessions = sessions
        self._scheduler = scheduler
        self._waiting = waiting
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def due(self) -> bool:
        """Whether there are rules that were not applied yet."""
        return bool(self._remembering.unapplied())

    async def apply(self) -> None:
        """Every call is answered that waits for what one of the new rules says. Whoever asked may leave."""
        if not self.due:
            return
        task = asyncio.create_task(self._apply())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """What is not applied by now is later."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _apply(self) -> None:
        async with self._lock:
            rules = self._remembering.unapplied()
            if not rules:
                return
            for session_id in await self._waiting(rules):
                await self._apply_in(session_id, rules)
            try:
                await asyncio.to_thread(self._remembering.applied, [rule.rule_id for rule in rules])
            except AbeyError as error:  # they are applied once more, to no effect
                log.warning("%s", error.message)

    async def _apply_in(self, session_id: str, rules: Sequence[Rule]) -> None:
        try:
            live = await self._sessions.get(session_id)
            for rule in rules:
                async with live.lock:  # what is on its way may have been judged before the rule was kept
                    session = live.machine.session
                if is_about(rule, session) and not session.stopped and might_decide(rule, session):
                    await self._scheduler.submit(live, ChangeRules("apply", rule))
        except AbeyError as error:  # it went, or takes no requests: what waits in it waits on
            log.warning("session %s: remembered rules are not applied: %s", session_id, error.message)
