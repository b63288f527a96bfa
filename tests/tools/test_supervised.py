"""The daemon's side of a supervised program, with a supervisor of our own."""

import asyncio
import json
import os
import subprocess

from abey.runtime.tools.orphans import Orphans
from abey.runtime.tools.supervised import Supervised
from abey.runtime.tools.trees import has_ended


class Watcher:
    """A process that is killed when its input ends; the helper and the supervisor at once."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.pid = self.process.pid

    def wake(self) -> None: ...

    def kill(self) -> None: ...

    def end(self) -> None:
        self.process.communicate()


class Sweeps(Orphans):
    """Notes whether `watched` had ended whenever orphans are looked for."""

    def __init__(self, watched: int) -> None:
        super().__init__()
        self._watched = watched
        self.had_ended: list[bool] = []

    async def end(self) -> None:
        self.had_ended.append(has_ended(self._watched))


async def test_orphans_are_looked_for_once_who_watched_them_has_ended() -> None:
    """A process that dies closes its pipes before its children are those of another."""
    watcher = Watcher()
    orphans = Sweeps(watcher.pid)
    reading, life = os.pipe()
    os.close(reading)
    status, telling = os.pipe()
    supervised = Supervised(watcher, orphans, life, status)
    os.write(telling, json.dumps({"supervisor": watcher.pid}).encode() + b"\n")
    await supervised.started()
    os.close(telling)
    end = asyncio.ensure_future(supervised.end())
    await asyncio.wait({end}, timeout=0.05)
    before = list(orphans.had_ended)
    watcher.end()
    await end
    assert (before, orphans.had_ended) == ([], [True])
