"""Sessions that nobody has used for a while leave memory; whoever asks next loads them again (machine.md, Sessions at
rest).

Laws
- Only a session that a restart would not change leaves; what else is in memory of one keeps it there.
- Nothing observable tells that a session has left.
- A daemon in which nothing can leave any more does not wake for it.
"""

import asyncio
from collections.abc import Callable

from abey.core.resting import rests
from abey.runtime.live import Live
from abey.runtime.parking import Parking
from abey.runtime.ports import Ports
from abey.runtime.sessions import Sessions


class Resting:
    """One timer for all sessions. It runs while there are some that were used since they were looked at last."""

    def __init__(
        self,
        ports: Ports,
        sessions: Sessions,
        parking: Parking,
        can_list: Callable[[], bool],
        seconds: float,
    ) -> None:
        """So many seconds after its last use, at the latest, a session that can leave has left, and not before half of
        them. `can_list` says whether sessions that are not in memory can be listed without loading them all."""
        self._ports = ports
        self._sessions = sessions
        self._parking = parking
        self._can_list = can_list
        self._period = seconds / 2
        self._timer: asyncio.TimerHandle | None = None
        self._letting_go: set[asyncio.Task[None]] = set()
        self._closed = False
        sessions.residents.on_use = self._wake

    def look(self) -> None:
        """A period has passed."""
        for live in self._sessions.residents.age():
            if live.lock.locked() or live.writing:
                self._sessions.residents.used(live.id, live)
            elif self._stays(live):
                self._sessions.residents.stay(live)
            else:
                self._leave(live)

    async def close(self) -> None:
        """Nothing leaves any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*self._letting_go, return_exceptions=True)

    def _wake(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(self._period, self._passed)

    def _passed(self) -> None:
        self._timer = None
        self.look()
        if self._sessions.residents.ageing:
            self._wake()

    def _stays(self, live: Live) -> bool:
        """Whether something in memory of it is nowhere else. Who works for it, waits for it or is attached to it holds
        it anyway."""
        return (
            live.failure is not None
            or bool(live.so_far)
            or not rests(live.machine)
            or self._ports.kept_open.holds(live.id)
            or not self._can_list()
        )

    def _leave(self, live: Live) -> None:
        self._parking.leave(live)
        self._sessions.leave(live)
        task = asyncio.create_task(self._ports.kept_open.release(live.id))
        self._letting_go.add(task)
        task.add_done_callback(self._letting_go.discard)
