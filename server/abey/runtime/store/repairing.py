"""Looks at a journal that somebody wants mended, and mends it: the original always stays (journal.md, Recovery)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from abey.core.notes import in_words, runs_of
from abey.protocol.base import Timestamp
from abey.protocol.journal import Record, Repaired
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.mending import Follow, Mended, mend
from abey.runtime.store.recovery import AHEAD, too_short
from abey.runtime.store.scan import Problem, TornTail, holds_nothing, scan
from abey.runtime.store.snapshots import newest_beyond, set_aside, snapshot_name

GAPS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Whole:
    """Nothing is wrong with the bytes."""

    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Torn:
    """Opening the session does what is to be done."""

    found: tuple[str, ...]
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hopeless:
    """Nothing of it can be mended here; `advice` is the way out."""

    found: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Mendable:
    """`data` can become `mended`, and `original` is where `data` will be kept. There is a snapshot of the revision
    `beyond`, which `mended` does not reach; `lost` are the revisions that are known to be lost."""

    found: tuple[str, ...]
    actions: tuple[str, ...]
    data: bytes
    mended: Mended
    offset: int
    original: Path
    beyond: int | None
    lost: tuple[int, ...]


Examined = Whole | Torn | Mendable | Hopeless


def examine(io: FileIO, directory: Path, follow: Follow) -> Examined:
    """What is wrong with the session in `directory`, and what would mend it; not one byte is changed."""
    try:
        data = io.read(directory / JOURNAL)
    except FileNotFoundError:
        return _hopeless(directory, "there is no journal")
    except OSError as error:
        return _hopeless(directory, f"the journal cannot be read: {error.strerror}")
    if holds_nothing(data):
        return _hopeless(directory, "the journal holds only NUL bytes" if data else "the journal is empty")
    mended = mend(data, follow)
    if mended.newer is not None:
        return Hopeless((f"a newer version of abey wrote it: {mended.newer}",), "install that version; it can open it")
    if not mended.data:
        unread = "the first record cannot be read, and without it there is no session"
        return _hopeless(directory, mended.refused or unread)
    problem = scan(data).problem
    beyond = newest_beyond(io, directory, mended.end.revision)
    if problem is None and mended.data == data and beyond is None:
        return Whole((f"the journal is whole: {_revisions(mended)}, {len(data)} bytes",))
    if isinstance(problem, TornTail) and mended.data == data[: problem.offset]:
        return _torn(data, problem, mended.end.revision, beyond)
    if problem is None and mended.data == data:
        return _torn(data, None, mended.end.revision, beyond)
    offset = problem.offset if problem is not None else len(mended.data)
    original = _free_name(io, directory, data)
    found = tuple(_damage(mended, offset, _reason(problem, mended), beyond))
    actions = tuple(_actions(data, mended, original, beyond))
    after = range(mended.end.revision + 1, max(*mended.lost, beyond or 0, 0) + 1)
    return Mendable(found, actions, data, mended, offset, original, beyond, tuple(sorted({*mended.lost, *after})))


def repair(io: FileIO, found: Mendable, now: Timestamp) -> None:
    """Puts the mended journal in the place of the old one. Raises OSError: then the journal is the one or the other,
    and whole as that."""
    directory, mended = found.original.parent, found.mended
    if found.original.name not in io.names(directory):
        io.replace_file(found.original, found.data)
    repaired = Repaired(
        offset=found.offset,
        cut_bytes=max(0, len(found.data) - len(mended.data)),
        may_have_run=not mended.certain or found.beyond is not None,
        lost=runs_of(found.lost) or None,
    )
    unit = (Record(mended.end.revision + 1, now, repaired),)
    line, _ = encode_unit(unit, mended.end.crc, carried=dict(mended.end.carried))
    io.replace_file(directory / JOURNAL, mended.data + line)
    # not before: a journal that is too short and has no such snapshot beside it looks whole
    set_aside(io, directory, found.beyond, _suffix(found.original))


def _hopeless(directory: Path, reason: str) -> Hopeless:
    way_out = f"`abey session delete {directory.name} --force` moves what is there to the trash"
    return Hopeless((reason,), f"there is nothing to mend; {way_out}")


def _torn(data: bytes, problem: TornTail | None, revision: int, beyond: int | None) -> Torn:
    """What opening the session mends: a tail that is not whole, an end that a snapshot knew to be further on."""
    found, actions = [], []
    if problem is not None:
        size = len(data) - problem.offset
        found.append(f"the last write, from byte {problem.offset} on, is not whole: {problem.reason}")
        actions.append(f"move its {size} bytes to {JOURNAL}.tail-{problem.offset}, as opening the session does")
    if beyond is not None:
        found.append(too_short(revision, beyond))
        found.append(f"{in_words(((revision + 1, beyond),))} are lost to the session, unless there is a copy")
        actions.append(f"keep the snapshot as {snapshot_name(beyond)}{AHEAD}, as opening the session does")
    actions.append("record the repair: every call that has no result is uncertain then")
    return Torn(tuple(found), tuple(actions))


def _reason(problem: Problem | None, mended: Mended) -> str | None:
    """What is wrong with the bytes themselves, if anything is."""
    return problem.reason if problem is not None else mended.refused


def _damage(mended: Mended, offset: int, reason: str | None, beyond: int | None) -> Iterator[str]:
    if reason is not None:
        yield f"damage at byte {offset}: {reason}"
    for gap in mended.gaps[:GAPS_SHOWN]:
        yield f"bytes {gap.start} to {gap.end - 1} hold no record that continues the journal"
    if len(mended.gaps) > GAPS_SHOWN:
        yield f"and so do {len(mended.gaps) - GAPS_SHOWN} more pieces"
    yield f"{_revisions(mended)} can be kept"
    if beyond is not None:
        yield too_short(mended.end.revision, beyond)
    if mended.lost:
        lost = in_words(runs_of(mended.lost))
        yield f"{lost} can be read, but nothing kept leads to them: they are lost to the session"
    if beyond is not None:
        yield f"{in_words(((mended.end.revision + 1, beyond),))} are lost to the session, unless there is a copy"
    elif mended.certain:
        yield "nothing is lost"
    elif not mended.lost:
        yield "what followed cannot be read: it is lost to the session"


def _actions(data: bytes, mended: Mended, original: Path, beyond: int | None) -> Iterator[str]:
    yield f"keep the journal as it is, {len(data)} bytes, as {original.name}"
    yield f"write {_revisions(mended)} to a new journal in its place"
    if beyond is not None:
        yield f"keep the snapshot as {snapshot_name(beyond)}{_suffix(original)}"
    is_certain = mended.certain and beyond is None
    doubt = "nothing else changes" if is_certain else "every call that has no result is uncertain then"
    yield f"record the repair: {doubt}"


def _revisions(mended: Mended) -> str:
    return in_words(((mended.first, mended.end.revision),))


def _suffix(original: Path) -> str:
    return original.name.removeprefix(JOURNAL)


def _free_name(io: FileIO, directory: Path, data: bytes) -> Path:
    """Where the journal is kept: a new name, or the last one where a repair that was cut short has kept it already."""
    names = set(io.names(directory))
    number = next(number for number in count(1) if _original(number) not in names)
    last = directory / _original(number - 1)
    return last if last.name in names and _holds(io, last, data) else directory / _original(number)


def _original(number: int) -> str:
    return f"{JOURNAL}.original-{number}"


def _holds(io: FileIO, path: Path, data: bytes) -> bool:
    try:
        return io.read(path) == data
    except OSError:
        return False
