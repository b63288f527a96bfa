"""Folders that are made so that something can lie over them, and go when nobody needs them any more."""

import os
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from abey.runtime.tools.sandbox.leftovers import Leftovers


class Shields:
    """What is not there cannot be kept from being made: so it is made, empty, for as long as a sandbox needs it.

    Whoever lets go last removes it, and only while it is empty: what somebody has put there stays.
    """

    def __init__(self, leftovers: Leftovers | None = None) -> None:
        self._leftovers = leftovers or Leftovers()
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    def hold(self, paths: Iterable[str]) -> list[str]:
        """Makes those that are not there: returns what this has made, now or for somebody else who holds it still.
        Raises OSError, and then nothing is held."""
        held: list[str] = []
        with self._lock:
            try:
                paths = [path for path in paths if self._held[path] or not os.path.lexists(path)]
                self._leftovers.note(paths)
                for path in paths:
                    if self._held[path] or _made(path):
                        self._held[path] += 1
                        held.append(path)
            except OSError:
                self._release(held)
                raise
        return held

    def let_go(self, paths: Iterable[str]) -> None:
        with self._lock:
            self._release(paths)

    def _release(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._held[path] -= 1
            if self._held[path] == 0:
                with suppress(OSError):
                    os.rmdir(path)
                self._leftovers.forget((path,))


def _made(path: str) -> bool:
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        return False
    return True
