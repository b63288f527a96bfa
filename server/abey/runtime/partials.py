"""What running tools print, while they run: told to who listens, and kept so that it outlives the daemon.

Laws
- A tool never waits for it, and nothing that goes wrong with it harms a call.
- What was kept of a call stays until a result of the call is durable.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from abey.core.session import Session, open_calls
from abey.runtime.live import Live
from abey.runtime.ports import Listener, Progress
from abey.runtime.so_far import SoFar
from abey.runtime.store.partial import PartialFile
from abey.runtime.store.store import Store
from abey.shared.escaping import whole_characters

log = logging.getLogger(__name__)

FIRST_SECONDS = 0.05
"""After the first text: many tools are over by then, and no file is made for them."""
NEXT_SECONDS = 0.5
"""Between two writes: each is of all that is kept."""


@dataclass(slots=True, eq=False)
class _Keeper:
    """Writes the output of one call as it grows, one write at a time. `file` is there from the first try on, and made
    by `make`: most calls need none."""

    make: Callable[[], PartialFile]
    file: PartialFile | None = None
    so_far: SoFar = field(default_factory=SoFar)
    written: int = 0
    pause: float = FIRST_SECONDS
    timer: asyncio.TimerHandle | None = None
    writing: asyncio.Task[None] | None = None
    has_failed: bool = False

    def grew(self) -> None:
        if self.timer is None and self.writing is None and not self.has_failed:
            self.timer = asyncio.get_running_loop().call_later(self.pause, self._write_now)

    def _write_now(self) -> None:
        self.timer, self.pause = None, NEXT_SECONDS
        self.writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        await self.write()
        self.writing = None
        if self.so_far.size > self.written:
            self.grew()

    async def write(self) -> None:
        """Everything that is there by now. What cannot be written is not tried again: it is in memory still."""
        size, file = self.so_far.size, self.file or self.make()
        self.file = file
        try:
            await asyncio.to_thread(file.write, self.so_far.text())
            self.written = size
        except OSError as error:
            log.warning("%s: the output so far cannot be kept: %s", file.name, error)
            self.has_failed = True

    async def rest(self) -> None:
        """From now on nothing is written by itself."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        while self.writing is not None:
            await asyncio.wait({self.writing})


class Partials:
    """Of all sessions; the texts themselves are in `Live.so_far`."""

    def __init__(self, store: Store, listener: Listener) -> None:
        self._store = store
        self._listener = listener
        self._keepers: dict[str, _Keeper] = {}
        self._removing: set[asyncio.Task[None]] = set()

    def begin(self, live: Live, call_id: str, invocation_id: str) -> Callable[[Progress], None]:
        """What the tool of this invocation tells its news to."""
        keeper = self._keepers[invocation_id] = _Keeper(partial(self._store.partial, live.id, invocation_id))
        live.so_far[invocation_id] = keeper.so_far

        def tell(news: Progress) -> None:
            if self._keepers.get(invocation_id) is not keeper:
                return  # it was told to end, and nobody listens any more
            news = _whole(news)
            if news.text:
                keeper.so_far.add(news.text)
                keeper.grew()
            self._listener.progressed(live.id, call_id, news)

        return tell

    async def end(self, live: Live, invocation_id: str, *, told: bool) -> None:
        """The work is over; `told`: what came of it is durable, else somebody may want to see how far it came."""
        keeper = self._keepers.pop(invocation_id, None)
        if keeper is None:
            return
        await keeper.rest()
        if told:
            live.so_far.pop(invocation_id, None)
            if keeper.file is not None:
                await self._remove(keeper.file)
        elif keeper.so_far.size > keeper.written and not keeper.has_failed:
            await keeper.write()

    def settle(self, live: Live) -> None:
        """The session is like this now: what was kept of calls that are open no more goes."""
        if not live.so_far:
            return
        for invocation_id in live.so_far.keys() - wanted(live.machine.session):
            if invocation_id not in self._keepers:
                del live.so_far[invocation_id]
                task = asyncio.create_task(self._remove(self._store.partial(live.id, invocation_id)))
                self._removing.add(task)
                task.add_done_callback(self._removing.discard)

    async def close(self) -> None:
        """Waits for what is being removed."""
        await asyncio.gather(*self._removing, return_exceptions=True)

    async def _remove(self, file: PartialFile) -> None:
        try:
            await asyncio.to_thread(file.remove)
        except OSError as error:
            log.warning("%s cannot be removed: %s; `abey gc` tries again", file.name, error)


def _whole(news: Progress) -> Progress:
    """The same with U+FFFD in the place of halves of characters, which no client could be told."""
    return replace(news, text=whole_characters(news.text or ""), message=whole_characters(news.message or ""))


def wanted(session: Session) -> frozenset[str]:
    """The invocations whose output so far tells something: the last ones of calls that were started and have no
    result."""
    return frozenset(call.started.invocation_id for call in open_calls(session) if call.started is not None)
