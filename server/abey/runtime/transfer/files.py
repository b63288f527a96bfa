"""The files that are written and read for a client: whole or not at all, and regular files only."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from abey.errors import AbeyError, InvalidArguments, RecordFailed
from abey.runtime.store.io import CREATE, FileIO
from abey.shared.escaping import escape_line

IMPORT_BYTES = 384 << 20
"""A larger file is not imported. A session of 256 MiB fits, though base64 makes four bytes of three."""

_NO_FILE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EACCES,
    errno.EPERM,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.EROFS,
    errno.EINVAL,
)
"""The path is wrong, not the disk."""


def absolute(path: str) -> Path:
    """Raises InvalidArguments for a path that is not absolute, or none at all."""
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidArguments(f"path is an absolute path, not {path!r}", errors=["path is not absolute"])
    return Path(path)


def refuse_inside(folder: Path, path: Path) -> None:
    """Raises InvalidArguments where `path` would be in `folder` or below it, whichever way it leads there."""
    above = Path(os.path.realpath(path.parent))
    if any(_is_same(one, folder) for one in (above, *above.parents)):
        message = f"{escape_line(str(path))} is in {escape_line(str(folder))}, where abey keeps its own files"
        raise InvalidArguments(f"{message}; choose another place", errors=["path is in the state directory"])


def write_file(io: FileIO, path: Path, pieces: Iterable[bytes]) -> int:
    """`path` holds all the pieces, durably, or what it held before; how many bytes. The file is its owner's only.

    Raises InvalidArguments for a path that cannot be written, or holds something else than a regular file;
    RecordFailed where the disk refuses. What `pieces` raises leaves nothing behind.
    """
    try:
        _refuse_what_is_no_file(io, path)
        new = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}.new")
        try:
            size = _write(io, new, pieces)
            io.rename(new, path)
        except BaseException:
            # the first error is the one to report
            with suppress(OSError):
                io.remove(new)
            raise
        io.sync_directory(path.parent)
    except OSError as error:
        raise _failed(path, "written", error) from error
    return size


def read_file(io: FileIO, path: Path) -> bytes:
    """All bytes of a regular file of at most IMPORT_BYTES. Raises InvalidArguments, RecordFailed."""
    try:
        size = io.status(Path(os.path.realpath(path))).st_size
        if size > IMPORT_BYTES:
            message = f"{escape_line(str(path))} has {size} bytes; at most {IMPORT_BYTES} are imported"
            raise InvalidArguments(message, errors=["path is too large"])
        return io.read(path, IMPORT_BYTES)
    except OSError as error:
        raise _failed(path, "read", error) from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return False


def _refuse_what_is_no_file(io: FileIO, path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(io.status(path).st_mode):
            raise OSError(errno.EINVAL, "something other than a regular file has this name")


def _write(io: FileIO, path: Path, pieces: Iterable[bytes]) -> int:
    size = 0
    descriptor = io.open(path, CREATE)
    try:
        for piece in pieces:
            io.write_whole(descriptor, piece)
            size += len(piece)
        io.sync(descriptor)
    finally:
        io.close(descriptor)
    return size


def _failed(path: Path, what: str, error: OSError) -> AbeyError:
    number = error.errno or errno.EIO
    name = errno.errorcode.get(number, str(number))
    message = f"{escape_line(str(path))} cannot be {what}: {error.strerror or os.strerror(number)} ({name})"
    if number in _NO_FILE:
        return InvalidArguments(message, errno=number, errnoName=name, errors=[f"path cannot be {what}"])
    return RecordFailed(message, errno=number, errnoName=name)
