"""The snapshots of a session beside its journal: a cache, which loses wherever it disagrees (journal.md, Snapshots)."""

import hashlib
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from abey.runtime.store.blobs import BLOBS, blobs_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.snapshot_text import Snapshot, Unusable, from_text, made_of, to_text

KEPT = 2

_NAME = re.compile(r"snapshot-([1-9][0-9]*)\.json")


@dataclass(frozen=True, slots=True)
class Found:
    """The newest snapshot that is of this journal, and its size in bytes; `disagreements` say of newer ones why they
    are not."""

    snapshot: Snapshot | None
    size: int = 0
    disagreements: tuple[str, ...] = ()


NONE = Found(None)


def find_snapshot(io: FileIO, directory: Path, journal: bytes) -> Found:
    """The snapshot that belongs to these bytes of the journal in `directory`. Raises nothing."""
    disagreements: list[str] = []
    for revision in sorted(_revisions(io, directory), reverse=True):
        path = _path(directory, revision)
        try:
            text = io.read(path)
            snapshot = from_text(text, blobs_of(io, directory))
            if snapshot is not None:
                _compare(snapshot, directory.name, revision, journal)
                return Found(snapshot, len(text), tuple(disagreements))
        except FileNotFoundError:
            continue  # removed since: it is a cache
        except OSError as error:
            disagreements.append(f"{path.name} cannot be read: {error.strerror}")
        except Unusable as error:
            disagreements.append(f"{path.name} is ignored: {error}")
    return Found(None, 0, tuple(disagreements))


def snapshot_name(revision: int) -> str:
    """How the file is called."""
    return f"snapshot-{revision}.json"


def newest_beyond(io: FileIO, directory: Path, revision: int) -> int | None:
    """The newest revision after this one of which there is a whole snapshot of the session in `directory`: the session
    has been there, whatever its journal says. Raises nothing."""
    for beyond in sorted((one for one in _revisions(io, directory) if one > revision), reverse=True):
        try:
            text = io.read(_path(directory, beyond))
        except OSError:
            continue  # what cannot be read proves nothing
        if made_of(text) == (directory.name, beyond):
            return beyond
    return None


def write_snapshot(io: FileIO, directory: Path, snapshot: Snapshot) -> int:
    """Its size in bytes. It is durable when this returns, and only KEPT are left, it and older ones. Raises OSError;
    ValueError for NaN and Infinity."""
    text = to_text(snapshot, partial(_is_kept, io, directory / BLOBS))
    io.replace_file(_path(directory, snapshot.end.revision), text)
    revisions = set(_revisions(io, directory))
    older = sorted((one for one in revisions if one <= snapshot.end.revision), reverse=True)
    # one that is newer than the newest revision is of a journal that is not there any more
    for revision in revisions - set(older[:KEPT]):
        io.remove(_path(directory, revision))
    return len(text)


def set_aside(io: FileIO, directory: Path, beyond: int | None, suffix: str) -> None:
    """No snapshot counts any more, durably; the one of revision `beyond` is kept, with that suffix. Raises OSError."""
    for revision in _revisions(io, directory):
        path = _path(directory, revision)
        if revision == beyond:
            io.rename(path, path.with_name(path.name + suffix))
        else:
            io.remove(path)
    io.sync_directory(directory)


def _compare(snapshot: Snapshot, session_id: str, revision: int, journal: bytes) -> None:
    end = snapshot.end
    if snapshot.session.id != session_id:
        raise Unusable(f"it is of session {snapshot.session.id}")
    if not revision == end.revision == snapshot.session.revision:
        raise Unusable(f"it is of revision {end.revision}")
    if end.size > len(journal):
        raise Unusable(f"it is of a journal of {end.size} bytes, and there are {len(journal)}")
    if hashlib.sha256(memoryview(journal)[: end.size]).hexdigest() != snapshot.journal_hash:
        raise Unusable(f"the journal's first {end.size} bytes are not those that it was made of")


def _is_kept(io: FileIO, blobs: Path, name: str, size: int) -> bool:
    try:
        return io.status(blobs / name).st_size == size
    except OSError:
        return False


def _revisions(io: FileIO, directory: Path) -> list[int]:
    try:
        names = io.names(directory)
    except OSError:
        return []  # what is wrong with it, the journal will say
    return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]


def _path(directory: Path, revision: int) -> Path:
    return directory / snapshot_name(revision)
