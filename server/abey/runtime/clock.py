"""The only callers of time and chance, and the clocks of the tests."""

import asyncio
import os
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class SystemClock:
    """Time and chance as the system has them."""

    def now(self) -> str:
        return timestamp(self.millis())

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    def entropy(self) -> bytes:
        return os.urandom(32)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock whose sleeps take no time: it jumps. `slept` lists them; entropy counts up from zero."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self._drawn = 0

    def now(self) -> str:
        return _rfc3339(_EPOCH + timedelta(seconds=self.seconds))

    def millis(self) -> int:
        return millis_of(self.now())

    def entropy(self) -> bytes:
        self._drawn += 1
        return (self._drawn - 1).to_bytes(32, "big")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


class ManualClock(VirtualClock):
    """A clock whose sleeps end when `advance` has gone that far."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.seconds + seconds, woken))
        await woken

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock; what sleeps does not notice."""
        self.seconds += seconds
        self._sleepers = [(at + seconds, woken) for at, woken in self._sleepers]

    def advance(self, seconds: float) -> None:
        """Ends every sleep that is due within `seconds` from now."""
        self.seconds += seconds
        due = [woken for at, woken in self._sleepers if at <= self.seconds]
        self._sleepers = [(at, woken) for at, woken in self._sleepers if at > self.seconds]
        for woken in due:
            if not woken.done():
                woken.set_result(None)


@lru_cache(maxsize=4)
def timestamp(millis: int) -> str:
    """Milliseconds since 1970 as the protocol writes them."""
    return f"{_of_second(millis // 1000)}.{millis % 1000:03}Z"


@lru_cache(maxsize=4)
def _of_second(seconds: int) -> str:
    """What the timestamps of one second have in common."""
    return (_UNIX + timedelta(seconds=seconds)).isoformat(timespec="seconds").removesuffix("+00:00")


def millis_of(text: str) -> int:
    """Milliseconds since 1970 of a timestamp of the protocol. Raises ValueError."""
    return (datetime.fromisoformat(text) - _UNIX) // _MILLISECOND


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
