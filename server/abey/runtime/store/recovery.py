"""Opening a journal after whatever happened to it (journal.md, Recovery)."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, takewhile
from pathlib import Path
from typing import assert_never

from abey.errors import RecordFailed
from abey.protocol.base import Timestamp
from abey.protocol.journal import Created, Record, Repaired
from abey.runtime.store.blobs import blobs_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL, Journal, record_failed
from abey.runtime.store.scan import Damage, NewerVersion, Scan, TornTail, holds_nothing, scan
from abey.runtime.store.snapshots import NONE, Found, find_snapshot, newest_beyond, set_aside, snapshot_name


@dataclass(frozen=True, slots=True)
class Opened:
    """A whole session: its records, or those after `base`. `repaired` is the last record when a torn tail was cut off
    just now; `lost` are the texts in the records that stand for blobs that are missing or damaged."""

    journal: Journal
    records: tuple[Record, ...]
    units: tuple[tuple[Record, ...], ...]
    repaired: Repaired | None = None
    base: Found = NONE
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Damaged:
    """A session that can only be read, as far as `records`, those after `base`, go; `offset` is the first bad byte,
    where one is known."""

    session_id: str
    reason: str
    offset: int | None
    records: tuple[Record, ...]
    base: Found = NONE
    lost: tuple[str, ...] = ()


def open_journal(io: FileIO, directory: Path, now: Timestamp) -> Opened | Damaged:
    """The session in `directory`, with all its records; raises nothing.

    A torn tail is cut off and kept, and the cut recorded at `now`; whatever else is wrong, not one byte is changed.
    """
    return _open(io, directory, now, lambda _: NONE)


def load_journal(io: FileIO, directory: Path, now: Timestamp) -> Opened | Damaged:
    """The same session, from its newest snapshot on where it has one that agrees; raises nothing."""
    return _open(io, directory, now, partial(find_snapshot, io, directory))


def _open(io: FileIO, directory: Path, now: Timestamp, look: Callable[[bytes], Found]) -> Opened | Damaged:
    try:
        data = io.read(directory / JOURNAL)
    except FileNotFoundError:
        return Damaged(directory.name, "there is no journal", None, ())
    except OSError as error:
        return Damaged(directory.name, f"the journal cannot be read: {error.strerror}", None, ())
    base, fetch = look(data), blobs_of(io, directory)
    if base.snapshot is not None:
        found = scan(data, base.snapshot.end, fetch)
        return replace(_judged(io, directory, now, data, found), base=base, lost=found.lost)
    found = scan(data, fetch=fetch)
    foreign = _why_foreign(directory.name, data, found)
    if foreign is not None:
        return Damaged(directory.name, foreign, 0, (), base)
    return replace(_judged(io, directory, now, data, found), base=base, lost=found.lost)


def _judged(io: FileIO, directory: Path, now: Timestamp, data: bytes, found: Scan) -> Opened | Damaged:
    match found.problem:
        case None | TornTail():
            beyond = newest_beyond(io, directory, found.end.revision)
            # a tail that is kept already: a repair was cut short, and nothing says yet that anything may have run
            if found.problem is None and beyond is None and not _kept(directory / JOURNAL, found.end.size):
                return _opened(_journal(io, directory / JOURNAL, data, found), found.units)
            return _repair(io, directory / JOURNAL, data, found, now, beyond)
        case Damage(offset, reason):
            return Damaged(directory.name, reason, offset, _flat(found.units))
        case NewerVersion(offset, reason):
            return Damaged(directory.name, f"written by a newer version: {reason}", offset, _flat(found.units))
        case _:
            assert_never(found.problem)


AHEAD = ".ahead"
"""What the name of a snapshot gets that knew more than its journal."""


def too_short(revision: int, beyond: int) -> str:
    """What is wrong with a journal that ends at `revision`, where there is a snapshot of the revision `beyond`."""
    knew = f"{snapshot_name(beyond)} knew {beyond} revisions, and the journal has {revision}"
    return f"{knew}: put {JOURNAL} back from a copy"


def reopen_journal(io: FileIO, directory: Path, now: Timestamp) -> Opened | Damaged:
    """The session after a failed write, on a new copy of its whole units. Raises RecordFailed.

    After a failed sync the old file may lack on the disk what it shows in memory.
    """
    opened = open_journal(io, directory, now)
    if isinstance(opened, Damaged):
        return opened
    journal = opened.journal
    try:
        journal.close()
        whole = io.read(journal.path)[: journal.size]
        io.replace_file(journal.path, whole)
    except OSError as error:
        raise record_failed(journal.what, error) from error
    return replace(opened, journal=Journal(io, journal.path, journal.end, whole))


def _journal(io: FileIO, path: Path, data: bytes, found: Scan) -> Journal:
    return Journal(io, path, found.end, memoryview(data)[: found.end.size])


def _opened(journal: Journal, units: tuple[tuple[Record, ...], ...], repaired: Repaired | None = None) -> Opened:
    return Opened(journal, _flat(units), units, repaired)


def _flat(units: tuple[tuple[Record, ...], ...]) -> tuple[Record, ...]:
    return tuple(chain.from_iterable(units))


def _why_foreign(session_id: str, data: bytes, found: Scan) -> str | None:
    """Why the bytes are not a journal of this session at all, or None."""
    if holds_nothing(data):
        return "the journal holds only NUL bytes" if data else "the journal is empty"
    match found:
        case Scan(units=(), problem=TornTail(reason=reason)):
            return f"the first write is not whole, or this is no journal: {reason}"
        case Scan(units=()):
            return None
    match _flat(found.units)[:1]:
        case (Record(data=Created(session_id=owner)),) if owner == session_id:
            return None
        case (Record(data=Created(session_id=owner)),):
            return f"the journal is that of session {owner}"
    return "the journal does not begin with the record created"


def _repair(io: FileIO, path: Path, data: bytes, found: Scan, now: Timestamp, beyond: int | None) -> Opened | Damaged:
    """Cuts off a torn tail, if there is one, and records what is missing: `beyond` is the revision that a snapshot
    knew, and the snapshot is put aside."""
    offset = found.end.size
    journal = _journal(io, path, data, found)
    try:
        if found.problem is not None:
            _keep(io, path, offset, data[offset:])
            _cut(io, path, offset)
        kept = _kept(path, offset)
        cut_bytes = kept[-1].lstat().st_size if kept else 0
        lost = ((found.end.revision + 1, beyond),) if beyond is not None else None
        repaired = Repaired(offset=offset, cut_bytes=cut_bytes, may_have_run=True, lost=lost)
        unit = (Record(found.end.revision + 1, now, repaired),)
        journal.append(unit)
        if beyond is not None:
            set_aside(io, path.parent, beyond, AHEAD)
    except (OSError, RecordFailed) as error:
        reason = f"the last write is not whole, and could not be repaired: {_words(error)}"
        return Damaged(path.parent.name, reason, offset, _flat(found.units))
    finally:
        journal.park()  # who only looks at the session, or cannot follow it, never closes it
    return _opened(journal, (*found.units, unit), repaired)


def _words(error: OSError | RecordFailed) -> str:
    return error.message if isinstance(error, RecordFailed) else error.strerror or str(error)


def _keep(io: FileIO, path: Path, offset: int, tail: bytes) -> None:
    """`tail` in a file of its own, durably. An older tail of the same offset stays as it is."""
    for name in _tail_names(path, offset):
        try:
            io.create_file(name, tail)
        except FileExistsError:
            continue
        break
    io.sync_directory(path.parent)


def _kept(path: Path, offset: int) -> tuple[Path, ...]:
    """The tails that were kept from `offset`, the last one last."""
    return tuple(takewhile(os.path.lexists, _tail_names(path, offset)))


def _tail_names(path: Path, offset: int) -> Iterator[Path]:
    name = f"{path.name}.tail-{offset}"
    yield path.with_name(name)
    yield from (path.with_name(f"{name}.{number}") for number in count(1))


def _cut(io: FileIO, path: Path, size: int) -> None:
    descriptor = io.open(path, os.O_WRONLY)
    try:
        io.truncate(descriptor, size)
        io.sync(descriptor)
    finally:
        io.close(descriptor)
