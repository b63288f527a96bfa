"""The processes that come to this one when a helper or a supervisor is killed, and how they are ended."""

import asyncio
import contextlib
import os

from abey.runtime.tools.trees import become_subreaper, kill_trees, place_of, places

_SWEEPS = 100
_PAUSE_SECONDS = 0.005


class Orphans:
    """What programs left to this process. It has to be a subreaper for that, from `expect` to `expect_no_more`.

    An orphan is a child of this process in another session that is no known supervisor and was not there before. A
    process can leave its session but never enter one that exists, and a supervisor leads its own: so no child that
    other code started within our session is ever taken for an orphan.
    """

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._known: set[int] = set()
        self._expecting = False

    def expect(self) -> None:
        if not self._expecting:
            self._expecting = become_subreaper(True)
            self._before = self._strangers()

    def expect_no_more(self) -> None:
        if self._expecting:
            become_subreaper(False)
            self._expecting = False

    def know(self, supervisor: int) -> None:
        self._known.add(supervisor)

    def forget(self, supervisor: int) -> None:
        self._known.discard(supervisor)

    def forget_all(self) -> None:
        self._known.clear()

    def has(self, pid: int) -> bool:
        """Whether this process has become the parent of that one."""
        place = place_of(pid)
        return place is not None and place.parent == os.getpid()

    async def end(self) -> None:
        """Kills and reaps them, in a bounded number of sweeps."""
        for _ in range(_SWEEPS):
            if not self._expecting or not self._sweep():
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    def _sweep(self) -> bool:
        found = self._strangers() - self._known - self._before
        kill_trees(found)
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return bool(found)

    def _strangers(self) -> set[int]:
        us, session = os.getpid(), os.getsid(0)
        return {pid for pid, place in places().items() if place.parent == us and place.session != session}
