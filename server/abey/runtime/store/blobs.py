"""The blobs of one session: files that are named by the hash of what they hold (journal.md, Blobs)."""

import contextlib
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from abey.protocol.journal import BlobRef
from abey.runtime.store.io import FileIO
from abey.runtime.store.references import BlobLost, Fetch

BLOBS = "blobs"
_PIECE = 1 << 20


class Blobs:
    """Blocking, and for one thread at a time."""

    def __init__(self, io: FileIO, session: Path) -> None:
        """The blobs of the session in that directory."""
        self.directory = session / BLOBS
        self._io = io
        self._sizes = _sizes(io, self.directory)
        self.size = sum(self._sizes.values())
        """Of all blobs that are there, as far as their directory could be read."""
        self._is_anchored = False

    def note(self, blob: BlobRef) -> None:
        """A blob that somebody else has kept counts from now on."""
        self.size += blob.bytes - self._sizes.get(blob.sha256, 0)
        self._sizes[blob.sha256] = blob.bytes

    def keep(self, contents: Mapping[str, bytes]) -> None:
        """All of them, by hash, durable with their names when this returns. Raises OSError."""
        if not contents:
            return
        make_directory(self._io, self.directory)
        for name, content in contents.items():
            path = self.directory / name
            if self._holds(path, content):
                # somebody may have put it there without a sync
                self._io.sync_file(path)
            else:
                self._io.place_file(path, content)
        self._io.sync_directory(self.directory)
        if not self._is_anchored:
            # the directory may be new, or one whose name was not synced before a crash
            self._io.sync_directory(self.directory.parent)
            self._is_anchored = True
        for name, content in contents.items():
            self.note(BlobRef(sha256=name, bytes=len(content)))

    def remove_all(self) -> None:
        """Takes back a session that was not created. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            for name in self._io.names(self.directory):
                self._io.remove(self.directory / name)
            self._io.remove_directory(self.directory)

    def _holds(self, path: Path, content: bytes) -> bool:
        try:
            return self._io.read(path) == content
        except OSError:  # whatever lies there is replaced, and if it cannot be, that is said
            return False


def make_directory(io: FileIO, directory: Path) -> None:
    """The directory of blobs is there; its name may not be durable yet. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        io.make_directory(directory)


def blobs_of(io: FileIO, session: Path) -> Fetch:
    """What reads the blobs of the session in that directory, whole."""
    return lambda reference: _read(io, session, reference.sha256, 0, reference.bytes)


def read_blob(io: FileIO, session: Path, blob: BlobRef, offset: int, limit: int) -> bytes:
    """A part of a blob, all of which was checked, in constant memory. Raises BlobLost."""
    return _read(io, session, blob.sha256, offset, limit)


def _read(io: FileIO, session: Path, name: str, offset: int, limit: int) -> bytes:
    digest, wanted, at = hashlib.sha256(), bytearray(), 0
    try:
        for piece in io.pieces(session / BLOBS / name, _PIECE):
            digest.update(piece)
            wanted += piece[max(0, offset - at) : max(0, offset + limit - at)]
            at += len(piece)
    except (FileNotFoundError, NotADirectoryError):
        raise BlobLost("missing") from None
    except OSError:
        raise BlobLost("damaged") from None
    if digest.hexdigest() != name:
        raise BlobLost("damaged")
    return bytes(wanted)


_NAME = re.compile(r"[0-9a-f]{64}\Z")


def _sizes(io: FileIO, directory: Path) -> dict[str, int]:
    sizes = {}
    # what cannot be read is missing where it is needed, and said there
    with contextlib.suppress(OSError):
        for name in filter(_NAME.match, io.names(directory)):
            sizes[name] = io.status(directory / name).st_size
    return sizes
