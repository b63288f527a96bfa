"""A disk that remembers what it has really been told to keep, and can show what a power loss may leave of the rest.

The laws of this disk: bytes and names that were synced stay. Of the others each 512-byte sector is as before, as
written, zero or random; the size is the old one, the new one, one in between or rounded up to a page; each name that
was made, moved or removed since its directory was synced is as before or as after. After a failed sync nothing that was
waiting is written any more, though it can still be read.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from abey.runtime.store.io import FileIO

SECTOR = 512
PAGE = 4096


@dataclass(eq=False, slots=True)
class Inode:
    """A file: what is read, what the disk has, and the ranges of the one that the other still lacks."""

    cache: bytearray = field(default_factory=bytearray)
    disk: bytes = b""
    dirty: list[tuple[int, int]] = field(default_factory=list)

    def write(self, at: int, data: bytes) -> None:
        self.cache[at : at + len(data)] = data
        self.dirty.append((at, at + len(data)))

    def truncate(self, size: int) -> None:
        del self.cache[size:]
        self.dirty = [(start, min(end, size)) for start, end in self.dirty if start < size]

    def sync(self) -> None:
        kept = bytearray(self.disk[: len(self.cache)].ljust(len(self.cache), b"\0"))
        for start, end in self.dirty:
            kept[start:end] = self.cache[start:end]
        self.disk, self.dirty = bytes(kept), []

    def lose(self, chance: Random) -> None:
        """A sync failed: some of what waited is on the disk, and nothing waits any more."""
        self.disk, self.dirty = self.image(chance), []

    def image(self, chance: Random) -> bytes:
        """What the disk may have after a power loss now."""
        old, new = len(self.disk), len(self.cache)
        if not self.dirty and old == new:
            return self.disk
        size = chance.choice([old, new, chance.randint(min(old, new), max(old, new)), -(-new // PAGE) * PAGE])
        found = bytearray(self.disk[:size].ljust(size, b"\0"))
        weights = chance.choice([(1, 0, 0, 0), (0, 1, 0, 0), (2, 2, 1, 1)])
        for start, end in self.dirty:
            at = start
            while at < min(end, size):
                stop = min(end, size, (at // SECTOR + 1) * SECTOR)
                match chance.choices(["new", "old", "zero", "random"], weights)[0]:
                    case "new":
                        found[at:stop] = self.cache[at:stop]
                    case "zero":
                        found[at:stop] = bytes(stop - at)
                    case "random":
                        found[at:stop] = chance.randbytes(stop - at)
                at = stop
        return bytes(found)


Names = dict[Path, Inode | None]
"""Every name; None for a directory."""


@dataclass(frozen=True, slots=True)
class Change:
    """Of the names in `directory`: `gone` goes, `name` comes and is `what`."""

    directory: Path
    gone: Path | None = None
    name: Path | None = None
    what: Inode | None = None

    def apply(self, names: Names) -> None:
        if self.gone is not None and (self.gone not in names or (self.name and names[self.gone] is not self.what)):
            return
        if self.gone is not None:
            del names[self.gone]
        if self.name is not None:
            names[self.name] = self.what
        if self.gone is not None and self.name is not None:
            for path in [path for path in names if self.gone in path.parents]:
                names[self.name / path.relative_to(self.gone)] = names.pop(path)


class PowerIO(FileIO):
    """A real directory `root`, all of it durable at first, and beside it what a power loss may leave.

    `before` is called at every change; with `shaky` a write or a sync fails that often.
    """

    def __init__(self, root: Path, chance: Random, shaky: float = 0.0) -> None:
        super().__init__("process")
        self.root = root
        self.before: Callable[[], None] = lambda: None
        self.shaky = shaky
        self._chance = chance
        self._now: Names = {root: None}
        for path in sorted(root.rglob("*")):
            data = None if path.is_dir() else path.read_bytes()
            self._now[path] = None if data is None else Inode(bytearray(data), data)
        self._kept = dict(self._now)
        self._waiting: list[Change] = []
        self._open: dict[int, Inode] = {}

    def leave(self, target: Path, chance: Random) -> None:
        """Makes what a power loss now may leave of `root`, as a new directory."""
        names = dict(self._kept)
        for change in self._waiting:
            if chance.random() < 0.5:
                change.apply(names)
        for path in sorted(names):
            inode, place = names[path], target / path.relative_to(self.root)
            if inode is None and place.parent.is_dir():
                place.mkdir()
            elif inode is not None and place.parent.is_dir():
                place.write_bytes(inode.image(chance))

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT:
            self.before()
        descriptor = super().open(path, flags)
        if path not in self._now:
            self._change(Change(path.parent, name=path, what=Inode()))
        inode = self._now[path]
        assert inode is not None
        self._open[descriptor] = inode
        return descriptor

    def close(self, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        super().close(descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        self.before()
        failed = self._chance.random() < self.shaky
        if failed:
            data = data[: self._chance.choice([0, len(data) // 2])]
        # every file of the store is written from its beginning or appended to
        written = super().write(descriptor, data)
        inode = self._open[descriptor]
        inode.write(len(inode.cache), bytes(data[:written]))
        if failed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written

    def sync(self, descriptor: int) -> None:
        self.before()
        inode = self._open[descriptor]
        if self._chance.random() < self.shaky:
            inode.lose(self._chance)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        inode.sync()

    def sync_directory(self, path: Path) -> None:
        self.before()
        for change in self._waiting:
            if change.directory == path:
                change.apply(self._kept)
        self._waiting = [change for change in self._waiting if change.directory != path]

    def truncate(self, descriptor: int, size: int) -> None:
        self.before()
        super().truncate(descriptor, size)
        self._open[descriptor].truncate(size)

    def rename(self, source: Path, target: Path) -> None:
        self.before()
        super().rename(source, target)
        self._change(Change(target.parent, gone=source, name=target, what=self._now[source]))

    def remove(self, path: Path) -> None:
        self.before()
        super().remove(path)
        self._change(Change(path.parent, gone=path))

    def remove_directory(self, path: Path) -> None:
        self.before()
        super().remove_directory(path)
        self._change(Change(path.parent, gone=path))

    def make_directory(self, path: Path) -> None:
        self.before()
        super().make_directory(path)
        self._change(Change(path.parent, name=path))

    def _change(self, change: Change) -> None:
        change.apply(self._now)
        self._waiting.append(change)
