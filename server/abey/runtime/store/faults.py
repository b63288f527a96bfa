"""The fake disk for tests: a real directory, with every call counted and any of them failing on demand."""

import errno
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from abey.runtime.store.io import READ_LIMIT, FileIO

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Fault:
    """What the call with number `at` (from 0, all calls counted) does; `sticky`: and every call after it.

    `short` writes half and says so; `partial` writes half and raises; other calls raise in both. `number` is an errno.
    """

    at: int
    number: int = errno.EIO
    write: Literal["raises", "short", "partial"] = "raises"
    sticky: bool = False

    def meets(self, index: int) -> bool:
        return index == self.at or (self.sticky and index > self.at)


class FaultyIO(FileIO):
    """`calls` names every call so far; nothing is really synced."""

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__("process")
        self.fault = fault
        self.calls: list[str] = []

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.calls)

    def open(self, path: Path, flags: int) -> int:
        return self._met("open", lambda: super(FaultyIO, self).open(path, flags))

    def read(self, path: Path, limit: int = READ_LIMIT) -> bytes:
        return self._met("read", lambda: super(FaultyIO, self).read(path, limit))

    def write(self, descriptor: int, data: memoryview) -> int:
        fault = self._next("write")
        if fault is None:
            return super().write(descriptor, data)
        if fault.write != "raises":
            written = super().write(descriptor, data[: len(data) // 2])
            if fault.write == "short" and written:
                return written
        raise OSError(fault.number, os.strerror(fault.number))

    def sync(self, descriptor: int) -> None:
        self._met("sync", lambda: super(FaultyIO, self).sync(descriptor))

    def sync_directory(self, path: Path) -> None:
        self._met("sync_directory", lambda: super(FaultyIO, self).sync_directory(path))

    def truncate(self, descriptor: int, size: int) -> None:
        self._met("truncate", lambda: super(FaultyIO, self).truncate(descriptor, size))

    def rename(self, source: Path, target: Path) -> None:
        self._met("rename", lambda: super(FaultyIO, self).rename(source, target))

    def remove(self, path: Path) -> None:
        self._met("remove", lambda: super(FaultyIO, self).remove(path))

    def make_directory(self, path: Path) -> None:
        self._met("make_directory", lambda: super(FaultyIO, self).make_directory(path))

    def _next(self, name: str) -> Fault | None:
        index = len(self.calls)
        self.calls.append(name)
        return self.fault if self.fault is not None and self.fault.meets(index) else None

    def _met(self, name: str, call: Callable[[], _T]) -> _T:
        fault = self._next(name)
        if fault is not None:
            raise OSError(fault.number, os.strerror(fault.number))
        return call()
