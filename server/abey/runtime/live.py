"""A session in memory: the machine, its journal, and who waits for what."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from abey.core.agent import Agent
from abey.core.effects import EndRun
from abey.core.machine import Machine
from abey.core.session import open_calls
from abey.errors import AbeyError, RecordFailed
from abey.protocol.base import Json
from abey.protocol.journal import CallResolved, CallStarted, Record
from abey.runtime.event_log import EventLog
from abey.runtime.so_far import SoFar
from abey.runtime.store.journal import Journal


class Pulse:
    """Wakes everybody who waits for the next beat."""

    def __init__(self) -> None:
        self._next: asyncio.Event | None = None

    def beat(self) -> None:
        if self._next is not None:
            self._next.set()
            self._next = None

    async def wait(self) -> None:
        self._next = self._next or asyncio.Event()
        await self._next.wait()


@dataclass(frozen=True, slots=True)
class Kept:
    """The last snapshot: where in the journal it ends, and its own size, in bytes."""

    end: int = 0
    size: int = 0


@dataclass(slots=True, eq=False, weakref_slot=True)
class Live:
    """`agent` is the version that the running step began with; `failure` says why nothing is accepted any more;
    `writing` while a thread has the journal, or is to get it; `kept` is the last snapshot; `warned` once it was said
    that the session is nearly full; `lost` are the texts in it that stand for blobs that are missing or damaged;
    `family` are the children that work on its open calls: they are in memory for as long as it is.

    `runs` and `calls` hold who waits for the end of a run (by generation) or of a started call (by its id);
    `questions` are the tools that wait for an answer, by invocation, and `so_far` is what the started and unfinished
    ones have printed.
    """

    machine: Machine
    journal: Journal
    log: EventLog
    agent: Agent
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: Pulse = field(default_factory=Pulse)
    failure: AbeyError | None = None
    writing: bool = False
    kept: Kept = Kept()
    warned: bool = False
    lost: tuple[str, ...] = ()
    runs: dict[int, list[asyncio.Future[EndRun]]] = field(default_factory=dict)
    calls: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    questions: dict[str, asyncio.Future[Json]] = field(default_factory=dict)
    timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    so_far: dict[str, SoFar] = field(default_factory=dict)
    family: "tuple[Live, ...]" = ()
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.id = self.machine.session.id

    def printed(self) -> dict[str, str]:
        """What the started and unfinished calls have printed so far, by the ids of the calls."""
        if not self.so_far:
            return {}
        started = ((call.call_id, call.started) for call in open_calls(self.machine.session))
        kept = ((call_id, one and self.so_far.get(one.invocation_id)) for call_id, one in started)
        return {call_id: so_far.text() for call_id, so_far in kept if so_far}

    def end_of_run(self, generation: int | None) -> "asyncio.Future[EndRun] | None":
        """What ends with the run of that generation, of which nobody was told that it has ended; for one who waits."""
        if generation is None:
            return None
        waiter: asyncio.Future[EndRun] = asyncio.get_running_loop().create_future()
        self.runs.setdefault(generation, []).append(waiter)
        return waiter

    def run_ended(self, end: EndRun) -> None:
        for waiter in self.runs.pop(end.generation, ()):
            if not waiter.done():
                waiter.set_result(end)

    def note_calls(self, records: Sequence[Record]) -> None:
        """Wakes who waits for a call that is not open any more, or that asks somebody; the machine is that after
        `records`."""
        for record in records:
            data = record.data
            if type(data) is CallStarted or (type(data) is CallResolved and data.answers_question):
                self.calls.setdefault(data.call_id, asyncio.get_running_loop().create_future())
        if not self.calls:
            return
        calls = open_calls(self.machine.session)
        at_work = {call.call_id for call in calls if call.state == "running" and call.question is None}
        for call_id in self.calls.keys() - at_work:
            waiter = self.calls.pop(call_id)
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, error: AbeyError) -> None:
        """Fail-stop: whoever waits is answered with the error, and so is everybody who comes. Its work and its timers
        end here."""
        self.machine = Machine(self.machine.session)
        self.failure = error
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        waiters: list[asyncio.Future[Any]] = [*chain(*self.runs.values()), *self.calls.values()]
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(self.refusal())
                waiter.exception()  # retrieved: nobody may be waiting
        self.runs.clear()
        self.calls.clear()
        self.changed.beat()

    def refusal(self) -> AbeyError:
        """What `failure` is to who asks now. Made anew: an error that is raised twice keeps the frames of both."""
        assert self.failure is not None
        if not isinstance(self.failure, RecordFailed):
            return self.failure.with_traceback(None)
        message = f"{self.failure.message}; `abey session reopen {self.id}` loads it again once the cause is gone"
        return RecordFailed(message, **self.failure.details)

    def dismiss(self, error: AbeyError) -> None:
        """The session goes from memory: its journal ends here, and whoever holds it gets the error."""
        self.journal.close()
        self.fail(error)
