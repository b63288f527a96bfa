"""A file of SQLite that is a cache: it is thrown away rather than mended."""

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from abey.runtime.store.io import CREATE, FileIO

if TYPE_CHECKING:  # it takes long to import, and many a daemon never lists
    import sqlite3

log = logging.getLogger(__name__)

_T = TypeVar("_T")

FAILURES = 3
"""So many times it fails; then the daemon goes on without it."""


class IndexFailed(Exception):
    """The index cannot be used, now or for good: what it would have told must be read from the journals."""


class CacheFile:
    """Blocking; for any thread, one at a time."""

    def __init__(self, path: Path, io: FileIO, prepare: Callable[["sqlite3.Connection"], None]) -> None:
        """Nothing is opened yet. `prepare` makes what is in an empty file, and raises sqlite3.DatabaseError for one
        that is of no use."""
        self._path = path
        self._io = io
        self._prepare = prepare
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._failures = 0

    @property
    def off(self) -> bool:
        """Whether it is given up for good."""
        return self._failures >= FAILURES

    def run(self, work: Callable[["sqlite3.Connection"], _T]) -> _T:
        """What `work` gives. Raises IndexFailed; then the file was thrown away, and the next work has an empty one."""
        import sqlite3

        with self._lock:
            if self.off:
                raise IndexFailed("the index is given up")
            try:
                return work(self._connected())
            except (sqlite3.Error, sqlite3.Warning, OSError, UnicodeError) as error:
                self._failures += 1
                what = "goes on without it" if self._failures == FAILURES else "makes it anew"
                log.error("the index of the sessions failed, and the daemon %s: %s", what, error)
                self._discard()
                raise IndexFailed(str(error)) from error

    def close(self) -> None:
        """Idempotent; raises nothing. Nothing can be asked any more."""
        with self._lock:
            self._failures = FAILURES
            self._disconnect()

    def _connected(self) -> "sqlite3.Connection":
        import sqlite3

        if self._connection is None:
            try:
                self._connection = self._open()
            except sqlite3.DatabaseError as error:
                log.warning("the index of the sessions is made anew: %s", error)
                self._discard()
                self._connection = self._open()
        return self._connection

    def _open(self) -> "sqlite3.Connection":
        import sqlite3

        with contextlib.suppress(FileExistsError):
            # before sqlite makes it, and its companions like it: they are for the owner only
            self._io.close(self._io.open(self._path, CREATE))
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _discard(self) -> None:
        self._disconnect()
        for suffix in ("", "-wal", "-shm"):
            # what cannot be removed is met again when it is opened
            with contextlib.suppress(OSError):
                self._io.remove(self._path.with_name(self._path.name + suffix))

    def _disconnect(self) -> None:
        import sqlite3

        connection, self._connection = self._connection, None
        if connection is not None:
            # of a broken file nothing is kept anyway
            with contextlib.suppress(sqlite3.Error):
                connection.close()
