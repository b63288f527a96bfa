"""What the state directory can spare, and how it goes (journal.md, Retention).

Laws
- No record goes, and nothing that a record names: a session only moves to the trash, and only what has been there for
  long goes for good.
- Whatever has changed since it was looked at stays.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from abey.core.session import Session, open_calls
from abey.protocol.base import Timestamp
from abey.runtime.clock import millis_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.leftovers import TEMPORARY_SECONDS, is_temporary
from abey.runtime.store.partial import invocation_of
from abey.runtime.store.snapshots import KEPT
from abey.runtime.store.trash import deleted_at

Kind = Literal["session", "trash", "blob", "snapshot", "temporary"]

BLOB_SECONDS = 86_400
SESSION_DAYS = 90
TRASH_DAYS = 14
DAY_MILLIS = 86_400_000

_SNAPSHOT = re.compile(r"snapshot-([1-9][0-9]*)\.json")
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_BLOB = re.compile(r"[0-9a-f]{64}")
GOING = ".going"
"""Added to the name of what leaves the trash: half of it is never taken back."""


class Stamp(NamedTuple):
    """What changes with a file."""

    inode: int
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Garbage:
    """Something that can be spared. A directory's `bytes` are those of all files in it."""

    kind: Kind
    path: Path
    bytes: int
    reason: str
    session_id: str | None = None
    stamp: Stamp | None = field(default=None, compare=False, repr=False)


def in_session(
    io: FileIO, directory: Path, millis: int, unfinished: frozenset[str] = frozenset()
) -> tuple[Garbage, ...]:
    """What a session that is well, and in which nothing runs, can spare at this time: of what tools had printed
    everything but the output of `unfinished` invocations. Raises OSError."""
    files = _own_files(io, directory)
    blobs = _own_files(io, directory / "blobs")
    found = [*_temporary(files, millis, directory.name), *_temporary(blobs, millis, directory.name)]
    for path, status in files.items():
        invocation = invocation_of(path)
        if invocation is not None and invocation not in unfinished and _is_old(status, millis, TEMPORARY_SECONDS):
            found.append(
                _garbage("temporary", path, status, "what a tool printed whose call has ended", directory.name)
            )
    snapshots = sorted((_revision(path), path) for path in files if _SNAPSHOT.fullmatch(path.name))
    for _, path in snapshots[:-KEPT]:
        found.append(_garbage("snapshot", path, files[path], f"{KEPT} newer ones are kept", directory.name))
    old = [path for path in blobs if _BLOB.fullmatch(path.name) and _is_old(blobs[path], millis, BLOB_SECONDS)]
    named = _named_blobs(io, files) if old else frozenset()
    reason = "no record names it, and it is older than a day"
    found += [_garbage("blob", path, blobs[path], reason, directory.name) for path in old if path.name not in named]
    return tuple(found)


def beside_sessions(io: FileIO, state: Path, millis: int) -> tuple[Garbage, ...]:
    """Temporary files of the state directory itself, of the agent configs and of the documents. Raises OSError."""
    folders = (_files(io, state), _own_files(io, state / "configs"), _own_files(io, state / "documents"))
    return tuple(one for files in folders for one in _temporary(files, millis, None))


def in_trash(io: FileIO, trash: Path, millis: int) -> tuple[Garbage, ...]:
    """Deleted sessions whose time is over, and those that were on their way out already. Raises OSError."""
    found = []
    for path in _entries(io, trash):
        if path.name.endswith(GOING):
            found.append(Garbage("trash", path, tree_bytes(io, path), "it was being removed", None))
            continue
        if _is_past(deleted_at(path), millis, TRASH_DAYS):
            reason = f"it was deleted more than {TRASH_DAYS} days ago"
            found.append(Garbage("trash", path, tree_bytes(io, path), reason, path.name.partition(".")[0]))
    return tuple(found)


def why_spared(session: Session, millis: int) -> str | None:
    """Why a session, as it is after a restart, can go to the trash at this time; None if it is to stay."""
    if open_calls(session):
        return None
    if not (session.stopped or session.archived):
        return None
    if not _is_past(session.updated_at, millis, SESSION_DAYS):
        return None
    what = "stopped" if session.stopped else "archived"
    return f"it is {what} and has not changed for more than {SESSION_DAYS} days"


def looks_old(io: FileIO, directory: Path, millis: int) -> bool:
    """Whether a session's journal was not written to, nor its directory restored, for so long that it may be spared.
    Raises OSError."""
    written, moved = io.status(directory / JOURNAL).st_mtime_ns, io.status(directory).st_ctime_ns
    return millis - max(written, moved) // 1_000_000 > SESSION_DAYS * DAY_MILLIS


def remove(io: FileIO, garbage: Garbage) -> bool:
    """Removes a file, or a directory of the trash, for good; False if it has changed, or went. Raises OSError."""
    try:
        if garbage.kind == "trash":
            _remove_trashed(io, garbage.path)
        elif garbage.stamp != _stamp(io.status(garbage.path)):
            return False
        else:
            io.remove(garbage.path)
    except FileNotFoundError:
        return False
    return True


def tree_bytes(io: FileIO, path: Path) -> int:
    """Of all files in a directory. What goes meanwhile, or cannot be looked at, counts for nothing."""
    try:
        status = io.status(path)
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
        return sum(tree_bytes(io, entry) for entry in _entries(io, path))
    except OSError:
        return 0


def _remove_trashed(io: FileIO, path: Path) -> None:
    going = path if path.name.endswith(GOING) else path.with_name(f"{path.name}{GOING}")
    if going != path:
        io.rename(path, going)
        io.sync_directory(path.parent)
    _remove_tree(io, going)


def _remove_tree(io: FileIO, path: Path) -> None:
    """Links are removed, never followed."""
    if not stat.S_ISDIR(io.status(path).st_mode):
        io.remove(path)
        return
    for entry in _entries(io, path):
        _remove_tree(io, entry)
    io.remove_directory(path)


def _own_files(io: FileIO, folder: Path) -> dict[Path, os.stat_result]:
    """The same; none where a link stands for the folder: what it leads to is not ours to tidy up."""
    try:
        is_ours = stat.S_ISDIR(io.status(folder).st_mode)
    except FileNotFoundError:
        return {}
    return _files(io, folder) if is_ours else {}


def _files(io: FileIO, folder: Path) -> dict[Path, os.stat_result]:
    """The regular files right in a folder; none where there is no folder."""
    found = {}
    for path in _entries(io, folder):
        try:
            status = io.status(path)
        except FileNotFoundError:  # it went while we looked
            continue
        if stat.S_ISREG(status.st_mode):
            found[path] = status
    return found


def _entries(io: FileIO, folder: Path) -> list[Path]:
    try:
        return [folder / name for name in sorted(io.names(folder))]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _temporary(files: dict[Path, os.stat_result], millis: int, session_id: str | None) -> Iterator[Garbage]:
    for path, status in files.items():
        if is_temporary(path) and _is_old(status, millis, TEMPORARY_SECONDS):
            yield _garbage("temporary", path, status, "a temporary file, untouched for an hour", session_id)


def _named_blobs(io: FileIO, files: dict[Path, os.stat_result]) -> frozenset[str]:
    """Every hash that stands anywhere in the journal, in what was cut off it, in its originals and its snapshots."""
    texts = (io.read(path) for path in files if path.name.startswith(("journal.", "snapshot-")))
    return frozenset(found.decode() for text in texts for found in _HASH.findall(text))


def _garbage(kind: Kind, path: Path, status: os.stat_result, reason: str, session_id: str | None) -> Garbage:
    return Garbage(kind, path, status.st_size, reason, session_id, _stamp(status))


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def _is_old(status: os.stat_result, millis: int, seconds: int) -> bool:
    return millis - status.st_mtime_ns // 1_000_000 > seconds * 1000


def _is_past(when: Timestamp | None, millis: int, days: int) -> bool:
    """Whether a time is longer ago than so many days; a text that is no time is not."""
    try:
        return when is not None and millis - millis_of(when) > days * DAY_MILLIS
    except ValueError:
        return False


def _revision(path: Path) -> int:
    found = _SNAPSHOT.fullmatch(path.name)
    return int(found[1]) if found else 0
