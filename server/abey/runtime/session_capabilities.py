"""What one session keeps open while it is in memory: made once, when it is first needed; ended in reverse order.

Laws
- Each is made at most once: its failure is remembered as long as the session is in memory, or until whoever
  declared it wants it forgotten.
- Once the end began nothing is made any more, and nobody gets what is left; what still comes of a making is disposed.
- One after another is disposed, the last declared first; one that fails, or does not end, holds up none of the others.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from abey.extensions.capabilities import Capability, CapabilityError, SessionInfo, Signal
from abey.runtime.ports import Clock
from abey.runtime.signals import ANY_END, AbortSignal, unless_aborted
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

GRACE_SECONDS = 5.0
"""What all that is being made when a session ends may take to end, and then each disposal."""
_SHOWN = 500

Notice = Callable[[str, Mapping[str, Any]], None]
"""(session id, an event that is live only)"""

Keep = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Runs what outlives its caller."""

"""How the code of others may end without ending the daemon."""


@dataclass(frozen=True, slots=True)
class _Made:
    value: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    cause: BaseException


@dataclass(slots=True, eq=False)
class _Entry:
    """`making` once somebody asked for it."""

    capability: Capability
    making: "asyncio.Task[_Made | _Failed] | None" = None


class SessionCapabilities:
    """A Capabilities."""

    def __init__(self, info: SessionInfo, clock: Clock, notice: Notice, keep: Keep) -> None:
        self._info = info
        self._clock = clock
        self._notice = notice
        self._keep = keep
        self._entries: dict[str, _Entry] = {}
        self._dropped: set[asyncio.Task[None]] = set()
        self._signal = AbortSignal()
        self._ending: asyncio.Task[None] | None = None

    @property
    def signal(self) -> Signal:
        """Fires when the session is being stopped, or goes from memory."""
        return self._signal

    @property
    def has_begun(self) -> bool:
        """Whether the making of anything has begun, whatever came of it."""
        return bool(self._dropped) or any(one.making is not None for one in self._entries.values())

    def declare(self, capabilities: Iterable[Capability]) -> None:
        """Those that are not declared yet come after those that are."""
        for one in capabilities:
            self._entries.setdefault(one.id, _Entry(one))

    def has(self, capability_id: str) -> bool:
        return capability_id in self._entries

    async def get(self, capability_id: str) -> Any:
        """Whoever stops waiting stops nothing: the making goes on for the others, and for the next."""
        entry = self._entries.get(capability_id)
        if entry is None:
            raise CapabilityError("capability/undeclared", f"no capability {capability_id} is declared")
        if self._ending is None and entry.making is not None and entry.making.done():
            made = entry.making.result()  # also while a stop gives what runs its time
        else:
            made = await unless_aborted(self._signal, self._made(entry))
        match made:
            case _Made(value):
                return value
            case _Failed(cause):
                raise CapabilityError("capability/create-failed", f"{capability_id}: {_told(cause)}") from cause

    def forget_failure(self, capability_id: str) -> None:
        """If its making has failed, the next `get` makes it again."""
        entry = self._entries.get(capability_id)
        if entry is not None and entry.making is not None and entry.making.done():
            entry.making = None if isinstance(entry.making.result(), _Failed) else entry.making

    async def drop(self, capability_id: str) -> None:
        """It is declared no longer. What was made of it is disposed, and so is, in its time, what is still being
        made."""
        entry = self._entries.pop(capability_id, None)
        if entry is None or entry.making is None:
            return
        retiring = self._keep(self._retire(entry.capability, entry.making))
        self._dropped.add(retiring)
        retiring.add_done_callback(self._dropped.discard)
        if entry.making.done():
            await asyncio.shield(retiring)

    def failed(self, capability_id: str, message: str) -> None:
        """Tells who looks at the session that it goes on without this."""
        self._tell("capability/create-failed", capability_id, message)

    def abort(self, reason: str) -> None:
        """What is being made is not wanted any more, and nothing is made from here on."""
        self._signal.fire(reason)

    async def shutdown(self, reason: str) -> None:
        """Returns when all is disposed that can be within its time; however often it is called, that happens once."""
        self.abort(reason)
        if self._ending is None:
            self._ending = self._keep(self._end())
        await asyncio.shield(self._ending)

    async def _made(self, entry: _Entry) -> _Made | _Failed:
        if entry.making is None:
            entry.making = asyncio.create_task(self._make(entry.capability))
        return await asyncio.shield(entry.making)

    async def _make(self, capability: Capability) -> _Made | _Failed:
        try:
            return _Made(await capability.create(self._info, self._signal))
        except ANY_END as cause:
            if not self._signal.aborted:
                known = isinstance(cause, CapabilityError)  # it has said all that there is to say
                why = None if known else cause
                log.warning("session %s: %s could not be made: %s", self._info.id, capability.id, cause, exc_info=why)
                self.failed(capability.id, _told(cause))
            return _Failed(cause)

    async def _end(self) -> None:
        started = [(one.capability, one.making) for one in self._entries.values() if one.making is not None]
        await self._within({*(making for _, making in started), *self._dropped})
        for capability, making in reversed(started):
            if making.done():
                await self._retire(capability, making)
            else:
                log.warning("session %s: the making of %s does not end", self._info.id, capability.id)
                self._keep(self._retire(capability, making))

    async def _retire(self, capability: Capability, making: "asyncio.Task[_Made | _Failed]") -> None:
        """Waits for what is being made, and disposes what came of it."""
        made = await asyncio.shield(making)
        if isinstance(made, _Made) and capability.dispose is not None:
            disposal = asyncio.create_task(_disposed(capability.dispose, made.value))
            if not await self._within({disposal}):
                disposal.cancel()
                self._undisposed(capability, TimeoutError(f"it does not end within {GRACE_SECONDS:g} s"))
            elif (error := disposal.result()) is not None:
                self._undisposed(capability, error)

    async def _within(self, work: "set[asyncio.Task[Any]]") -> bool:
        """Whether all of it has ended within its time."""
        if not work:
            return True
        end = asyncio.ensure_future(asyncio.wait(work))
        timer = asyncio.ensure_future(self._clock.sleep(GRACE_SECONDS))
        try:
            await asyncio.wait({end, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            end.cancel()
            timer.cancel()
        return all(one.done() for one in work)

    def _undisposed(self, capability: Capability, error: BaseException) -> None:
        log.error("session %s: %s could not be disposed", self._info.id, capability.id, exc_info=error)
        self._tell("capability/dispose-failed", capability.id, _told(error))

    def _tell(self, event: str, capability_id: str, message: str) -> None:
        self._notice(self._info.id, {"type": event, "capabilityId": capability_id, "message": message})


async def _disposed(dispose: Callable[[Any], Awaitable[None]], value: Any) -> BaseException | None:
    """How it failed, if it did."""
    try:
        await dispose(value)
    except ANY_END as error:
        return error
    return None


def _told(cause: BaseException) -> str:
    """In a harmless line."""
    return cut(escape_line(str(cause)), _SHOWN) or type(cause).__name__
