"""Every truncation of a real journal, and a flipped bit in every byte of it, of its snapshot and of a blob."""

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from support.e2e_journal import grouped, read
from support.harness.stories import Records, Story, Vanished, told

from abey.runtime.store.blobs import blobs_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.scan import scan
from abey.runtime.store.store import Store

LATER = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Whole:
    """A session, its bytes, and where each of its writes ends."""

    directory: Path
    data: bytes
    ends: tuple[int, ...]
    records: Records


def real_journal(folder: Path, chance: Random, size: int) -> Whole:
    """The journal of a session of at least `size` bytes."""
    story = Story("s1", chance, fat=0.2)
    store = Store(folder, FileIO("process"))
    story.create(store)
    _grow(story, size // 2)
    story.remember(store)
    _grow(story, size)
    story.close()
    directory = folder / "sessions" / "s1"
    units = grouped(read(directory / "journal.jsonl"))
    ends = tuple(itertools.accumulate(sum(len(line.raw) for line in unit) for unit in units))
    return Whole(directory, (directory / "journal.jsonl").read_bytes(), ends, story.acknowledged)


def _grow(story: Story, size: int) -> None:
    while story.journal is not None and story.journal.size < size:
        story.go_on()


def truncate_everywhere(whole: Whole, every: int) -> int:
    """How many truncations there are: each is scanned, each `every`th and each beside the end of a write is opened as
    a daemon opens it. Raises Vanished, AssertionError."""
    fetch = cache(blobs_of(FileIO("process"), whole.directory))
    near = {end + by for end in whole.ends for by in (-1, 0, 1)}
    for size in range(len(whole.data) + 1):
        found = scan(whole.data[:size], fetch=fetch)
        whole_end = max((end for end in whole.ends if end <= size), default=0)
        assert (found.end.size, found.problem is None) == (whole_end, size == whole_end), size
        if size % every == 0 or size in near:
            _open_short(whole, size, whole_end)
    return len(whole.data) + 1


def flip_everywhere(whole: Whole, chance: Random, every: int) -> int:
    """How many flips there are: each is scanned, each `every`th is opened. Raises Vanished for one that nobody sees."""
    fetch = cache(blobs_of(FileIO("process"), whole.directory))
    for at in range(len(whole.data)):
        data = bytearray(whole.data)
        data[at] ^= 1 << chance.randrange(8)
        if scan(bytes(data), fetch=fetch).problem is None:
            raise Vanished(f"nobody sees a flip in byte {at}")
        if at % every == 0:
            _open_flipped(whole, bytes(data), at)
    return len(whole.data)


def _open_short(whole: Whole, size: int, end: int) -> None:
    for store, journal in _copy(whole, whole.data[:size]):
        if end and _shows_the_loss(store, journal, end):
            continue
        loaded = store.load("s1", LATER)
        found = store.open("s1", LATER)
        assert told(loaded) == told(found), size
        if end == 0:
            assert isinstance(found, Damaged), size
            assert journal.read_bytes() == whole.data[:size]
            continue
        assert isinstance(loaded, Opened), loaded
        assert isinstance(found, Opened), found
        kept = whole.records[: sum(one.data.type != "repaired" for one in found.records)]
        cut = size != end
        assert ([*found.records[: len(kept)]], len(found.records)) == ([*kept], len(kept) + cut), size
        assert (loaded.repaired is not None, found.repaired, found.lost) == (cut, None, ()), size
        assert journal.read_bytes().startswith(whole.data[:end])


def _shows_the_loss(store: Store, journal: Path, end: int) -> bool:
    """Whether there are snapshots of more than the journal has: then the session says so. Raises Vanished."""
    revision = scan(journal.read_bytes()[:end]).end.revision
    beyond = [int(path.stem.partition("-")[2]) for path in journal.parent.glob("snapshot-*.json")]
    if max(beyond, default=0) <= revision:
        return False
    found = store.load("s1", LATER)
    told_of = found.repaired.lost if isinstance(found, Opened) and found.repaired else None
    if told_of != ((revision + 1, max(beyond)),):
        raise Vanished(f"nobody sees that the journal ends at revision {revision}, before {beyond}")
    again = store.load("s1", LATER)
    assert isinstance(again, Opened) and again.repaired is None
    return True


def _open_flipped(whole: Whole, data: bytes, at: int) -> None:
    for store, journal in _copy(whole, data):
        loaded = store.load("s1", LATER)
        found = store.open("s1", LATER)
        assert told(loaded) == told(found), f"byte {at}: the snapshot hides a flip"
        if isinstance(found, Damaged):
            assert found.records == whole.records[: len(found.records)], at
            assert journal.read_bytes() == data
            continue
        assert isinstance(loaded, Opened)
        assert loaded.repaired is not None, f"byte {at}: opened as if nothing were wrong"
        assert found.records[:-1] == whole.records[: len(found.records) - 1], at


def flip_beside(whole: Whole, chance: Random, every: int) -> int:
    """A flip in each `every`th byte of the snapshot and of the blobs: the one is ignored and said, the other is
    shown. Raises Vanished, AssertionError."""
    flips = 0
    for name in sorted(path.name for path in whole.directory.glob("snapshot-*")):
        for at in range(0, (whole.directory / name).stat().st_size, every):
            _flip_snapshot(whole, name, at, chance)
            flips += 1
    for name in sorted(path.name for path in (whole.directory / "blobs").glob("*")):
        for at in range(0, (whole.directory / "blobs" / name).stat().st_size, every * 50):
            _flip_blob(whole, name, at, chance)
            flips += 1
    return flips


def _flip_snapshot(whole: Whole, name: str, at: int, chance: Random) -> None:
    for store, journal in _copy(whole, whole.data):
        _flip(journal.with_name(name), at, chance)
        loaded, found = store.load("s1", LATER), store.open("s1", LATER)
        assert told(loaded) == told(found), f"{name}, byte {at}: it is believed"
        assert len(loaded.base.disagreements) == 1, f"{name}, byte {at}: nobody is told"


def _flip_blob(whole: Whole, name: str, at: int, chance: Random) -> None:
    for store, journal in _copy(whole, whole.data):
        _flip(journal.parent / "blobs" / name, at, chance)
        loaded, found = store.load("s1", LATER), store.open("s1", LATER)
        if not found.lost or isinstance(found, Damaged):
            raise Vanished(f"blob {name}, byte {at}: nobody sees the flip")
        assert told(loaded) == told(found)


def _flip(path: Path, at: int, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _copy(whole: Whole, data: bytes) -> Iterator[tuple[Store, Path]]:
    """The state directory with `data` for the journal, as long as the caller looks at it."""
    folder = whole.directory.parents[1].with_name("copy")
    directory = folder / "sessions" / "s1"
    shutil.copytree(whole.directory, directory)
    (directory / "journal.jsonl").write_bytes(data)
    yield Store(folder, FileIO("process")), directory / "journal.jsonl"
    shutil.rmtree(folder)
