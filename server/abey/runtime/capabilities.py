"""What every session in memory keeps open, each in isolation; nothing of it is written down."""

import asyncio
from collections.abc import Callable, Coroutine
from copy import deepcopy
from typing import Any

from abey.core.session import Session
from abey.extensions.capabilities import SessionInfo, start_nothing
from abey.extensions.programs import Start
from abey.runtime.ports import Clock
from abey.runtime.session_capabilities import Notice, SessionCapabilities

StartsFor = Callable[[Session], Start]
"""What starts programs for a session."""


def _nothing(_: Session) -> Start:
    return start_nothing


class CapabilityStates:
    """A session that is loaded again, or goes on after its stop, has everything made afresh."""

    def __init__(self, clock: Clock, notice: Notice, starts_for: StartsFor = _nothing) -> None:
        self._clock = clock
        self._notice = notice
        self._starts_for = starts_for
        self._states: dict[str, SessionCapabilities] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def of(self, session: Session) -> SessionCapabilities:
        """Where there is none yet, one that declares nothing; once all is closed, one in which nothing can be made."""
        state = self._states.get(session.id)
        if state is None:
            state = SessionCapabilities(self.info_of(session), self._clock, self._notice, self._keep)
            if self._closed:
                state.abort("the daemon ends")
            else:
                self._states[session.id] = state
        return state

    def info_of(self, session: Session) -> SessionInfo:
        """For the code of others: what that does to the context happens to a copy."""
        created, context = session.created, deepcopy(session.context)
        start = self._starts_for(session)
        return SessionInfo(session.id, created.agent, created.cwd, session.user_id, context, start)

    def peek(self, session_id: str) -> SessionCapabilities | None:
        """What the session keeps open, if it was ever asked for anything."""
        return self._states.get(session_id)

    def abort(self, session_id: str) -> None:
        """The session is being stopped: nothing is made for it any more, while what runs has its time to end."""
        state = self._states.get(session_id)
        if state is not None:
            state.abort("it is being stopped")

    def holds(self, session_id: str) -> bool:
        """Whether anything was made for the session, or could not be, or is still being disposed."""
        state = self._states.get(session_id)
        return session_id in self._leaving or (state is not None and state.has_begun)

    async def release(self, session_id: str) -> None:
        """Nothing of the session stays open. What is open of it afterwards was asked for afterwards."""
        state = self._states.pop(session_id, None)
        if state is not None:
            self._leaving[session_id] = leaving = self._keep(state.shutdown("it is let go"))
            leaving.add_done_callback(lambda task: self._left(session_id, task))
        if session_id in self._leaving:
            await asyncio.shield(self._leaving[session_id])

    async def close(self) -> None:
        """Nothing of any session stays open, and nothing is made any more; what does not end in time is left alone."""
        self._closed = True
        await asyncio.gather(*map(self.release, {*self._states, *self._leaving}))
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _left(self, session_id: str, task: asyncio.Task[None]) -> None:
        if self._leaving.get(session_id) is task:
            del self._leaving[session_id]

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
