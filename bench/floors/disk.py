"""Plain append and fdatasync: what it costs to make so many bytes durable here and now."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_RECORD = b"x" * 1023 + b"\n"


class Appended:
    """A file that grows by 1 KiB a call; `seconds` are those of each."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.seconds: list[float] = []

    def append(self) -> None:
        """Returns when it is durable."""
        began = time.perf_counter()
        os.write(self._descriptor, _RECORD)
        os.fdatasync(self._descriptor)
        self.seconds.append(time.perf_counter() - began)


@contextmanager
def appended(path: Path) -> Iterator[Appended]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        yield Appended(descriptor)
    finally:
        os.close(descriptor)
