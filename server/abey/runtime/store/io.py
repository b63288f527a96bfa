"""Every system call of the store in one object, so that a test can stand between the store and the disk."""

import contextlib
import errno
import fcntl
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

Durability = Literal["power", "process"]
"""`power`: bytes are on the disk before they count; `process`: they survive the process, not the machine."""

READ_LIMIT = 1 << 30
_PIECE = 1 << 20

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
APPEND = os.O_WRONLY | os.O_APPEND


class Space(NamedTuple):
    """Bytes of a file system: all there are, and those that this user may still fill."""

    total: int
    free: int


class FileIO:
    """The disk. Every method raises OSError; what it makes is for its owner only, whatever the umask."""

    def __init__(self, durability: Durability = "power") -> None:
        self.durability = durability

    def open(self, path: Path, flags: int) -> int:
        """A descriptor that children do not inherit."""
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
        if flags & os.O_CREAT:
            os.fchmod(descriptor, 0o600)
        return descriptor

    def read(self, path: Path, limit: int = READ_LIMIT) -> bytes:
        """All bytes of a regular file of at most `limit` bytes."""
        # without O_NONBLOCK a named pipe would stop the daemon here
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _within(file, status.st_size, limit)
        finally:
            os.close(descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        """How many bytes were written: perhaps fewer than there are."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Returns when the bytes of the file are as durable as `durability` says."""
        if self.durability == "process":
            return
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    def sync_directory(self, path: Path) -> None:
        """The same for the names in a directory."""
        if self.durability == "process":
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def file(self, descriptor: int) -> os.stat_result:
        return os.fstat(descriptor)

    def file_at(self, path: Path) -> os.stat_result | None:
        """The file that is there now, None where there is none."""
        try:
            return os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def remove_directory(self, path: Path) -> None:
        os.rmdir(path)

    def make_directory(self, path: Path) -> None:
        """Raises FileExistsError when anything has this name."""
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700)

    def names(self, path: Path) -> list[str]:
        """What is in a directory, in no order."""
        return os.listdir(path)

    def folder_names(self, path: Path) -> list[str]:
        """The same, without plain files."""
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if not entry.is_file(follow_symlinks=False)]

    def status(self, path: Path | str) -> os.stat_result:
        """What lies at `path` itself, not where a link there leads."""
        return os.lstat(path)

    def space(self, path: Path) -> Space:
        """Of the file system that `path` is on."""
        found = os.statvfs(path)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def write_whole(self, descriptor: int, data: bytes) -> None:
        """Writes all of `data`, in one call unless the system takes only a part of it."""
        rest = memoryview(data)
        while rest:
            written = self.write(descriptor, rest)
            if written <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            rest = rest[written:]

    def create_file(self, path: Path, data: bytes) -> None:
        """A new durable file. Raises FileExistsError; the caller syncs the directory."""
        descriptor = self.open(path, CREATE)
        try:
            self.write_whole(descriptor, data)
            self.sync(descriptor)
        finally:
            self.close(descriptor)

    def replace_file(self, path: Path, data: bytes) -> None:
        """`path` holds either its old bytes or all of `data`, durably, whenever the machine stops."""
        self.place_file(path, data)
        self.sync_directory(path.parent)

    def place_file(self, path: Path, data: bytes) -> None:
        """The same, but its name is durable only once the caller has synced the directory."""
        new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
        try:
            self._create_anew(new, data)
            self.rename(new, path)
        except OSError:
            # the first error is the one to report; a file that stays behind harms nobody
            with contextlib.suppress(OSError):
                self.remove(new)
            raise

    def _create_anew(self, path: Path, data: bytes) -> None:
        """One that is there was left behind by a process of the same number: that one is dead."""
        try:
            self.create_file(path, data)
        except FileExistsError:
            self.remove(path)
            self.create_file(path, data)

    def sync_file(self, path: Path) -> None:
        """What a file holds is durable, whoever wrote it."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            self.sync(descriptor)
        finally:
            self.close(descriptor)

    def pieces(self, path: Path, size: int) -> Iterator[bytes]:
        """All bytes of a regular file, at most `size` at a time."""
        descriptor = self.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            while piece := os.read(descriptor, size):
                yield piece
        finally:
            self.close(descriptor)

    def ensure_directory(self, path: Path) -> None:
        """`path` and its parents are directories, durably; those that were there keep their mode."""
        if path.is_dir():
            return
        self.ensure_directory(path.parent)
        # another thread or daemon may be making the same one
        with contextlib.suppress(FileExistsError):
            self.make_directory(path)
        self.sync_directory(path.parent)


def _within(file: BinaryIO, size: int, limit: int) -> bytes:
    """All bytes of a file that should have `size`; one that grows meanwhile has more, and one of /proc has no end."""
    too_large = OSError(errno.EFBIG, f"larger than {limit} bytes")
    if size > limit:
        raise too_large
    pieces = [file.read(size) or b""]
    room = limit - len(pieces[0])
    while piece := file.read(_PIECE):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            raise too_large
    return b"".join(pieces)
