"""Reads an agent file, or what it includes, guarded: one clear line for everything that cannot be one."""

import os
import stat
from functools import lru_cache
from pathlib import Path

from abey.shared.escaping import escape_line

MAX_BYTES = 1024 * 1024

Stamp = tuple[int, int, int, int]
"""Changes whenever a file was saved, or its mode changed: times of modification and of change in ns, size, inode. Only
two changes of the same length within one tick of the file system's clock look alike."""


class Unreadable(Exception):
    """Why a file cannot be read, in a line without the file's name; `missing` if there is none."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.missing = missing


def absolute(path: Path) -> Path:
    """The same path, from the root and without dots."""
    return _normal(path) if path.is_absolute() else Path(os.path.abspath(path))


@lru_cache(maxsize=256)
def _normal(path: Path) -> Path:
    """Each transition of a session asks for its agent by the same one."""
    return Path(os.path.normpath(path))


def stamp(path: Path | str) -> Stamp | None:
    """The stamp of the file that `path` leads to, None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def read_text(path: Path) -> str:
    """The text of a regular UTF-8 file of at most MAX_BYTES, without its BOM. Raises Unreadable."""
    try:
        data = _read(path)
    except FileNotFoundError:
        raise Unreadable("there is no such file", missing=True) from None
    except (OSError, ValueError) as error:
        raise Unreadable(escape_line(getattr(error, "strerror", None) or str(error))) from None
    if len(data) > MAX_BYTES:
        raise Unreadable(f"larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}") from None


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise Unreadable("a directory, not a file")
        if not stat.S_ISREG(kind):
            raise Unreadable("not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
