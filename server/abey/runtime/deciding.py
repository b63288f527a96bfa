"""Transitions are made between two beats of the event loop, but for the few that take long: those in a thread."""

import asyncio
from collections.abc import Sequence

from abey.core.events import Event, Reseed, Start
from abey.core.idempotency import Keyed
from abey.core.machine import Context
from abey.core.replay import after_each
from abey.core.session import Session
from abey.core.transition import Transition, begin, transition
from abey.runtime.event_log import EventLog, Logged
from abey.runtime.live import Live
from abey.shared.values import dataclass


@dataclass(frozen=True, slots=True)
class Decided:
    """What an event comes to, and how the log of the session will tell it. Nothing of it has happened yet."""

    done: Transition
    logged: Sequence[Logged]


async def decided(live: Live | None, event: Event, context: Context, keyed: Keyed | None) -> Decided:
    """For a session that there is, which is locked meanwhile, or for one that begins with it. Raises what the machine
    says of the event."""
    if isinstance(event, Reseed) or (isinstance(event, Start) and event.seed is not None):
        return await asyncio.to_thread(_decided, live, event, context, keyed)  # a seed may tell of thousands of turns
    return _decided(live, event, context, keyed)


def _decided(live: Live | None, event: Event, context: Context, keyed: Keyed | None) -> Decided:
    if live is not None:
        done = transition(live.machine, event, context, keyed)
        return Decided(done, live.log.ahead(done.records, _logged(live, done)))
    if not isinstance(event, Start):
        raise ValueError("a session begins with its start")
    done = begin(event, context, keyed)
    return Decided(done, EventLog().ahead(done.records, done.sessions))


def _logged(live: Live, done: Transition) -> Sequence[Session]:
    """The sessions after each record, as the journal alone tells them: those of the transition, unless it has begun
    with what a restart made of the journal. Then that goes on until both are the same again."""
    if live.log.session is live.machine.session:
        return done.sessions
    sessions = list(after_each(live.log.session, done.records))
    if sessions and sessions[-1] == done.machine.session:
        sessions[-1] = done.machine.session
    return sessions
