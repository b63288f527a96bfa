"""Whose turn it is among processes that run tests: many at a time, or one alone."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self


class Turns:
    """Shared by all that name one folder. Who wants to be alone keeps those who come later from going first."""

    def __init__(self, folder: Path) -> None:
        self._gate = (folder / "gate.lock").open("wb")
        self._room = (folder / "room.lock").open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._gate.close()
        self._room.close()

    @contextmanager
    def taken(self, *, alone: bool) -> Iterator[None]:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)
