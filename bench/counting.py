"""A disk that counts the syncs of the store, so that another process sees them."""

import mmap
import os
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

from abey.runtime.store.io import Durability, FileIO

_COUNT = struct.Struct("=Q")


class CountingIO(FileIO):
    """The disk; how often it was told to sync stands in the file `counter`, too."""

    def __init__(self, durability: Durability, counter: Path) -> None:
        super().__init__(durability)
        counter.write_bytes(bytes(_COUNT.size))
        with counter.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _COUNT.size)
        self._turn = threading.Lock()
        self.syncs = 0

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._count()

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        self._count()

    def _count(self) -> None:
        with self._turn:
            self.syncs += 1
            _COUNT.pack_into(self._shared, 0, self.syncs)


def read_counter(path: Path) -> int:
    """How many syncs there have been; 0 where nobody counts."""
    try:
        (count,) = _COUNT.unpack(path.read_bytes())
    except FileNotFoundError:
        return 0
    return int(count)


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of the files of a state directory: the journals, and what could be thrown away, as they hold all of it."""

    journals: int
    beside: int


def weigh(state: Path) -> Weight:
    """Files that vanish meanwhile count for nothing."""
    journals = sum(path.stat().st_size for path in state.glob("sessions/*/journal.jsonl"))
    beside = [*state.glob("index.sqlite*"), *state.glob("sessions/*/snapshot*"), *state.glob("snapshots/**/*")]
    return Weight(journals, sum(_size(path) for path in beside))


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
