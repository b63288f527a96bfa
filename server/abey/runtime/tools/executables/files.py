"""The programs of a folder as the disk has them: which there are, and whether they are still the same."""

import errno
import hashlib
import os
import stat
from collections.abc import Hashable, Mapping
from itertools import islice
from typing import Any

MOST_PROGRAMS = 256
MOST_FILES = 1024
HASHED_BYTES = 32 << 20
"""Of a larger program its size and times stand for its content."""

_CHUNK = 1 << 20


class TooMany(Exception):
    """A folder with more programs than are asked."""


def expanded(directory: str, env: Mapping[str, str]) -> str:
    """With the session's home in the place of a `~` at its beginning."""
    home = env.get("HOME", "")
    return home + directory[1:] if home and (directory == "~" or directory.startswith("~/")) else directory


def programs_in(directory: str) -> list[str]:
    """The paths of the programs in a folder, in the order of their names, links followed; or of the one program that
    `directory` is. Hidden files, folders and what may not be executed are none. Raises OSError, TooMany."""
    if os.path.isfile(directory):
        return [directory]
    with os.scandir(directory) as entries:
        paths = [entry.path for entry in islice(entries, MOST_FILES + 1) if not entry.name.startswith(".")]
    if len(paths) > MOST_FILES:
        raise TooMany(f"there are more than {MOST_FILES} files")
    found = [path for path in paths if _is_program(path)]
    if len(found) > MOST_PROGRAMS:
        raise TooMany(f"there are more than {MOST_PROGRAMS} programs")
    return sorted(found)


def stamps(directory: str) -> Hashable:
    """Differs whenever a program may have come, gone or changed; reads none. None where there is no such folder."""
    try:
        return frozenset((path, _stamp(path)) for path in programs_in(directory))
    except (OSError, TooMany):
        return None


def fingerprint(path: str) -> dict[str, Any]:
    """What a program is: where links lead, and its content, or what stands for it. Raises OSError, also for what is no
    file: another program may have put a pipe there, which nobody writes to."""
    real = os.path.realpath(path)
    with open(real, "rb", buffering=0, opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        if status.st_size > HASHED_BYTES:
            return {"path": real, "bytes": status.st_size, "changed": [status.st_mtime_ns, status.st_ctime_ns]}
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return {"path": real, "sha256": digest.hexdigest()}


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def _stamp(path: str) -> Hashable:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
