"""The journal of one session: units go in whole, one after another, or the handle is dead (journal.md, Durability)."""

import contextlib
import errno
import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from abey.errors import InvalidState, RecordFailed
from abey.protocol.journal import CallFinished, Record
from abey.runtime.store.blobs import Blobs
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.io import APPEND, CREATE, FileIO
from abey.runtime.store.scan import End
from abey.runtime.store.spelling import Carried

JOURNAL = "journal.jsonl"

log = logging.getLogger(__name__)


class Journal:
    """Blocking, and for one thread at a time: the session's lock keeps the order.

    The file is opened at the first append, so that a thousand idle sessions hold no descriptors.
    """

    def __init__(self, io: FileIO, path: Path, end: End, whole: bytes | memoryview = b"") -> None:
        """A journal whose whole bytes are those before `end` (recovery.py finds out): these are `whole`."""
        if len(whole) != end.size:
            raise ValueError(f"the whole bytes are {end.size}, not {len(whole)}")
        self._hash = hashlib.sha256(whole)
        self.path = path
        self.end = end
        self.blobs = Blobs(io, path.parent)
        self._io = io
        self._descriptor: int | None = None
        self._file: os.stat_result | None = None
        self._failure: OSError | None = None

    @classmethod
    def create(
        cls, io: FileIO, directory: Path, records: Sequence[Record], wholes: Mapping[str, bytes] | None = None
    ) -> "Journal":
        """A new session whose first write is `records`, durable with its directories; `wholes` are the whole outputs
        that they name, by SHA-256.

        Raises InvalidState when `directory` is there; TooLarge, RecordFailed: then nothing is left of it.
        """
        blobs = dict(wholes or {})
        carried: Carried = {}
        data, crc = encode_unit(records, 0, blobs, carried)
        journal = cls(io, directory / JOURNAL, End())
        try:
            io.make_directory(directory)
        except FileExistsError:
            raise InvalidState(f"session {directory.name} exists", sessionId=directory.name) from None
        except OSError as error:
            raise record_failed(journal.what, error) from error
        try:
            journal._open(CREATE | APPEND)
            journal._commit(data, blobs, End(len(data), crc, records[-1].rev, carried))
            io.sync_directory(directory)
            io.sync_directory(directory.parent)
        except OSError as error:
            journal._undo()
            raise record_failed(journal.what, error) from error
        except RecordFailed:
            journal._undo()
            raise
        return journal

    @property
    def what(self) -> str:
        """The journal, for people."""
        return f"the journal of session {self.path.parent.name}"

    @property
    def revision(self) -> int:
        """`rev` of the last record."""
        return self.end.revision

    @property
    def size(self) -> int:
        """Bytes up to the end of the last whole unit."""
        return self.end.size

    @property
    def total(self) -> int:
        """Bytes of the session: the journal and all that is in blobs."""
        return self.end.size + self.blobs.size

    @property
    def hash(self) -> str:
        """The SHA-256 of the bytes up to there, in hex: of what was written, whatever the disk makes of it."""
        return self._hash.hexdigest()

    def append(self, records: Sequence[Record]) -> None:
        """One unit, in one write and one sync, after its blobs. It is durable when this returns.

        Raises TooLarge or ValueError before anything is written; RecordFailed when it could not be written: from then
        on the handle is dead and every append raises.
        """
        if self._failure is not None:
            raise record_failed(self.what, self._failure)
        before = self.end
        if records[0].rev != before.revision + 1:
            raise ValueError(f"revision {records[0].rev} cannot follow {before.revision}")
        blobs: dict[str, bytes] = {}
        carried = dict(before.carried)
        data, crc = encode_unit(records, before.crc, blobs, carried)
        self._commit(data, blobs, End(before.size + len(data), crc, records[-1].rev, carried))
        for record in records:
            if type(record.data) is CallFinished and record.data.whole is not None:
                self.blobs.note(record.data.whole)

    def park(self) -> None:
        """Gives up the descriptor; the next append opens the file again. Never fails."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            self._io.close(descriptor)
        except OSError as error:  # what was acknowledged is durable, whatever becomes of the descriptor
            log.warning("%s cannot be closed: %s", self.what, error)

    def close(self) -> None:
        """Nothing can be appended any more; idempotent."""
        self._failure = self._failure or OSError(errno.EBADF, "the journal is closed")
        self.park()

    def _commit(self, data: bytes, blobs: Mapping[str, bytes], end: End) -> None:
        try:
            self.blobs.keep(blobs)
            descriptor = self._opened()
            self._write(descriptor, memoryview(data))
            self._io.sync(descriptor)
        except OSError as error:
            self._failure = error
            raise record_failed(self.what, error, self._cut()) from error
        self._hash.update(data)
        self.end = end

    def _write(self, descriptor: int, data: memoryview) -> None:
        """A write that takes only a part is a failure; what it did not take is tried once, to learn the reason."""
        written = self._io.write(descriptor, data)
        if written < len(data):
            self._io.write(descriptor, data[written:])
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _opened(self) -> int:
        """The descriptor of the journal: nobody finds what is written to another file than the one at its path."""
        descriptor = self._descriptor if self._descriptor is not None else self._open(APPEND)
        found = self._io.file_at(self.path)
        if found is None or self._file is None or not os.path.samestat(found, self._file):
            raise self._stale("somebody has removed the journal, or put another in its place")
        if found.st_size != self.end.size:
            raise self._stale("somebody else has changed the journal")
        return descriptor

    def _open(self, flags: int) -> int:
        self._descriptor = descriptor = self._io.open(self.path, flags)
        self._file = self._io.file(descriptor)
        return descriptor

    def _stale(self, reason: str) -> OSError:
        """The file is not ours any more: nothing is written to it, and nothing is cut off it."""
        self.park()
        return OSError(errno.ESTALE, reason)

    def _cut(self) -> str:
        """Cuts off what the failed write left, and says so where that fails. Never syncs: a second sync may lie."""
        if self._descriptor is None:
            return ""
        try:
            self._io.truncate(self._descriptor, self.size)
        except OSError as error:
            return f"; what it left could not be cut off: {error.strerror}"
        return ""

    def _undo(self) -> None:
        # the first error is the one to report; what stays behind is listed as damaged
        for undo in (
            self.close,
            lambda: self._io.remove(self.path),
            self.blobs.remove_all,
            lambda: self._io.remove_directory(self.path.parent),
        ):
            with contextlib.suppress(OSError):
                undo()


def record_failed(what: str, error: OSError, note: str = "") -> RecordFailed:
    """The error a client sees: what could not be written, and what the system said, in words and as errno."""
    number = error.errno or errno.EIO
    name = errno.errorcode.get(number, str(number))
    message = f"{what} could not be written: {error.strerror or os.strerror(number)} ({name}){note}"
    return RecordFailed(message, errno=number, errnoName=name)
