"""The disk of a simulation: it fails when a story says so, dies with its daemon, and keeps what a power loss leaves."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from support.harness.power import Change, PowerIO
from support.simulation.loop import Died


class SimulatedDisk(PowerIO):
    """Of one life of a daemon. Everything is real but for what `leave_power` throws away; names come in their order."""

    def __init__(self, root: Path, chance: Random) -> None:
        super().__init__(root, chance)
        self.before = self._next
        self.dead = False
        self.told: Callable[[str], None] = lambda _: None
        self.died: Callable[[], None] = lambda: None
        self._fails_after: int | None = None
        self._kind = errno.EIO
        self._dies_after: int | None = None

    def fail(self, after: int, kind: int) -> None:
        """The change after so many others fails."""
        self._fails_after, self._kind = after, kind

    def die(self, after: int) -> None:
        """The daemon dies in the middle of the change after so many others."""
        self._dies_after = after

    def heal(self) -> None:
        """Nothing more fails."""
        self._fails_after = self._dies_after = None

    def synced(self, path: Path) -> bytes:
        """What of a file would survive a power loss in any case, as far as nothing failed."""
        inode = self._kept.get(path)
        return inode.disk if inode is not None else b""

    def end(self) -> None:
        """The process is gone: its descriptors are closed, and nothing of it reaches the disk any more."""
        self.dead = True
        for descriptor in tuple(self._open):
            with suppress(OSError):
                os.close(descriptor)
        self._open.clear()

    def leave_power(self, chance: Random) -> None:
        """The directory is what a power loss may leave of it. The daemon is gone."""
        left = self.root.with_name(f"{self.root.name}.left")
        self.leave(left, chance)
        shutil.rmtree(self.root)
        left.rename(self.root)

    def write(self, descriptor: int, data: memoryview) -> int:
        if self._dies_after == 0 and not self.dead:
            self._dies_after = None
            super().write(descriptor, data[: len(data) // 2])
            self._die()
        if self._fails_after == 0 and self._kind == errno.ENOSPC and not self.dead:
            self._fails_after = None
            super().write(descriptor, data[: len(data) // 2])
            self.told("the disk is full in the middle of a write")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        fails = self._fails_after == 0 and not self.dead
        if fails:
            self._fails_after = None
            self._open[descriptor].lose(self._chance)
            self.told("a sync fails")
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(descriptor)

    def close(self, descriptor: int) -> None:
        if not self.dead:
            super().close(descriptor)

    def names(self, path: Path) -> list[str]:
        return sorted(super().names(path))

    def folder_names(self, path: Path) -> list[str]:
        return sorted(super().folder_names(path))

    def rename(self, source: Path, target: Path) -> None:
        """A directory that is moved is moved for good at once, and all in it with it: of many disks that is true."""
        if self._now.get(source, self) is not None:
            super().rename(source, target)
            return
        self.before()
        os.rename(source, target)
        for directory in (source.parent, target.parent):
            self._settle(directory)

        def moved(path: Path) -> Path:
            return target / path.relative_to(source) if path.is_relative_to(source) else path

        self._now = {moved(path): what for path, what in self._now.items()}
        self._kept = {moved(path): what for path, what in self._kept.items()}
        self._waiting = [
            Change(moved(one.directory), one.gone and moved(one.gone), one.name and moved(one.name), one.what)
            for one in self._waiting
        ]

    def _settle(self, directory: Path) -> None:
        """What has happened to the names in it stays."""
        for change in self._waiting:
            if change.directory == directory:
                change.apply(self._kept)
        self._waiting = [change for change in self._waiting if change.directory != directory]

    def _next(self) -> None:
        """Before each change."""
        if self.dead:
            raise Died
        if self._dies_after is not None:
            if self._dies_after == 0:
                self._die()
            self._dies_after -= 1
        if self._fails_after is not None:
            if self._fails_after == 0:
                self._fails_after = None
                self.told(f"a change to the disk fails: {os.strerror(self._kind)}")
                raise OSError(self._kind, os.strerror(self._kind))
            self._fails_after -= 1

    def _die(self) -> None:
        self.told("the daemon dies amid a change to the disk")
        self.dead = True
        self.died()
        raise Died
