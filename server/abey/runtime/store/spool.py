"""All of an output as it comes: a file that gets a blob's name once it is whole (journal.md, Blobs)."""

import contextlib
import hashlib
from pathlib import Path

from abey.protocol.journal import BlobRef
from abey.runtime.store.blobs import BLOBS, make_directory
from abey.runtime.store.io import CREATE, FileIO

WHOLE_BYTES = 64 << 20
"""The most of an output that is kept."""

SYNC_BYTES = 4 << 20
"""What may wait for a sync: where one sync has much to write, those of the journals wait for it."""


class BlobSpool:
    """A ports.Spool. Blocking, and for one thread at a time; its file is made by the first write.

    What a daemon that died has left is `blobs/.<name>.part`.
    """

    def __init__(self, io: FileIO, session: Path, name: str, limit: int = WHOLE_BYTES) -> None:
        """In the directory of a session; no two spools have one name."""
        self._io = io
        self._session = session
        self._path = session / BLOBS / f".{name}.part"
        self._descriptor: int | None = None
        self._digest = hashlib.sha256()
        self._size = 0
        self._unsynced = 0
        self._limit = limit

    def write(self, data: bytes) -> bool:
        """Adds what fits: whether there is room for more. Raises OSError."""
        kept = data[: self._limit - self._size]
        if kept:
            self._io.write_whole(self._opened(), kept)
            self._digest.update(kept)
            self._size += len(kept)
            self._unsynced += len(kept)
        if self._unsynced >= SYNC_BYTES:
            self._io.sync(self._opened())
            self._unsynced = 0
        return self._size < self._limit

    def keep(self) -> BlobRef:
        """The blob of all that was written, durable when this returns. Raises OSError."""
        descriptor = self._opened()
        self._io.sync(descriptor)
        self._close()
        blob = BlobRef(sha256=self._digest.hexdigest(), bytes=self._size)
        self._io.rename(self._path, self._path.with_name(blob.sha256))
        self._io.sync_directory(self._path.parent)
        self._io.sync_directory(self._session)
        return blob

    def drop(self) -> None:
        """Nothing is left of what was not kept. Raises OSError."""
        self._close()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._io.remove(self._path)

    def _opened(self) -> int:
        if self._descriptor is None:
            make_directory(self._io, self._path.parent)
            self._descriptor = self._io.open(self._path, CREATE)
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._io.close(descriptor)
