"""A session as its files tell it, read without changing one byte of them."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from abey.core.edits import IllegalRecord
from abey.core.replay import apply, recover
from abey.core.session import Session
from abey.protocol.journal import CallFinished
from abey.runtime.store.blobs import read_blob
from abey.runtime.store.io import READ_LIMIT, FileIO, Space
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.recovery import Damaged, Opened, open_journal, too_short
from abey.runtime.store.references import BlobLost
from abey.runtime.store.snapshots import find_snapshot, newest_beyond

NO_TIME = "1970-01-01T00:00:00.000Z"
"""Of the records that opening a session writes; here none are."""


@dataclass(frozen=True, slots=True)
class Peeked:
    """`session` as far as it can be read. `torn`: opening it would cut off a last write that is not whole.
    `shorter` says of a journal that a snapshot knew more of what is missing.

    `damage` says why it cannot be opened, and `offset` at which byte. `lost` names the blobs that are missing
    or damaged; `disagreements` say which snapshots lose against the journal.
    """

    session: Session | None
    torn: bool = False
    shorter: str | None = None
    damage: str | None = None
    offset: int | None = None
    lost: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()


class LookingIO(FileIO):
    """Reads through another FileIO; whatever would change the disk raises, and `tried` says that it was tried."""

    def __init__(self, io: FileIO) -> None:
        super().__init__("process")
        self._through = io
        self.tried = False

    def open(self, path: Path, flags: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            self._refuse()
        return self._through.open(path, flags)

    def read(self, path: Path, limit: int = READ_LIMIT) -> bytes:
        return self._through.read(path, limit)

    def pieces(self, path: Path, size: int) -> Iterator[bytes]:
        return self._through.pieces(path, size)

    def names(self, path: Path) -> list[str]:
        return self._through.names(path)

    def folder_names(self, path: Path) -> list[str]:
        return self._through.folder_names(path)

    def status(self, path: Path | str) -> os.stat_result:
        return self._through.status(path)

    def space(self, path: Path) -> Space:
        return self._through.space(path)

    def rename(self, source: Path, target: Path) -> NoReturn:
        self._refuse()

    def remove(self, path: Path) -> NoReturn:
        self._refuse()

    def remove_directory(self, path: Path) -> NoReturn:
        self._refuse()

    def make_directory(self, path: Path) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        self.tried = True
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def peek(io: FileIO, directory: Path) -> Peeked:
    """The session in `directory`, which exists; raises nothing that a file could cause."""
    looking = LookingIO(io)
    found = open_journal(looking, directory, NO_TIME)
    session, fault = _folded(found)
    lost = (*found.lost, *_lost_outputs(io, directory, found))
    if looking.tried:
        beyond = newest_beyond(io, directory, session.revision) if session else None
        shorter = too_short(session.revision, beyond) if session and beyond is not None else None
        return Peeked(session, torn=True, shorter=shorter, lost=lost)
    if isinstance(found, Damaged):
        return Peeked(session, damage=found.reason, offset=found.offset, lost=lost)
    return Peeked(session, damage=fault, lost=lost, disagreements=_disagreements(io, directory))


def _folded(found: Opened | Damaged) -> tuple[Session | None, str | None]:
    """The session after a restart, and what keeps its records from being followed to their end."""
    session: Session | None = None
    try:
        for record in found.records:
            session = apply(session, record)
    except IllegalRecord as error:
        return (recover(session) if session else None), str(error)
    return (recover(session) if session else None), None


def _lost_outputs(io: FileIO, directory: Path, found: Opened | Damaged) -> Iterator[str]:
    """The whole outputs of calls that are not there, or have other bytes; each is read once."""
    wholes = [record.data.whole for record in found.records if isinstance(record.data, CallFinished)]
    for whole in dict.fromkeys(whole for whole in wholes if whole is not None):
        try:
            read_blob(io, directory, whole, 0, 0)
        except BlobLost as lost:
            yield f"[{lost.how}: blob {whole.sha256}, {whole.bytes} bytes]"


def _disagreements(io: FileIO, directory: Path) -> tuple[str, ...]:
    if not any(name.startswith("snapshot-") for name in _names(io, directory)):
        return ()
    try:
        return find_snapshot(io, directory, io.read(directory / JOURNAL)).disagreements
    except OSError:  # it went since it was opened
        return ()


def _names(io: FileIO, folder: Path) -> list[str]:
    try:
        return io.names(folder)
    except OSError:
        return []
