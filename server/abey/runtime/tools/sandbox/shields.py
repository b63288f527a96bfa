"""Folders that are made so that something can lie over them, and go when nobody needs them any more."""

import threading
from collections import Counter
from collections.abc import Iterable

from abey.runtime.tools.sandbox import stand_ins
from abey.runtime.tools.sandbox.leftovers import Leftovers


class Shields:
    """What is not there cannot be kept from being made: so it is made, empty, for as long as a sandbox needs it.

    Whoever lets go last removes it, of all daemons, and only while it is empty: what somebody has put there stays.
    """

    def __init__(self, leftovers: Leftovers | None = None) -> None:
        self._leftovers = leftovers or Leftovers()
        self._lock = threading.Lock()
        self._uses: Counter[str] = Counter()
        self._descriptors: dict[str, int] = {}

    def hold(self, paths: Iterable[str]) -> list[str]:
        """Makes those that are not there, outer ones first: returns what this has made, or somebody else who needs it
        still. Raises OSError, and then nothing is held."""
        held: list[str] = []
        with self._lock:
            try:
                paths = [path for path in paths if self._uses[path] or stand_ins.has_room(path)]
                self._leftovers.note(paths)
                for path in paths:
                    if self._uses[path] or self._made(path):
                        self._uses[path] += 1
                        held.append(path)
            except OSError:
                self._release(held)
                raise
        return held

    def let_go(self, paths: Iterable[str]) -> None:
        with self._lock:
            self._release(paths)

    def _made(self, path: str) -> bool:
        descriptor = stand_ins.hold(path)
        if descriptor is not None:
            self._descriptors[path] = descriptor
        return descriptor is not None

    def _release(self, paths: Iterable[str]) -> None:
        for path in reversed(tuple(paths)):
            self._uses[path] -= 1
            if self._uses[path] == 0:
                stand_ins.let_go(path, self._descriptors.pop(path))
                self._leftovers.forget((path,))
