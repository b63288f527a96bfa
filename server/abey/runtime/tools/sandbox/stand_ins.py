"""Empty folders that stand in for what is not there. Daemons of several state directories share them.

Laws
- One has the sticky bit, which tells it from a folder that somebody else has made.
- Whoever needs it has a shared lock on it. It goes only while nobody else has one, and only while it is empty.
"""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

MODE = stat.S_ISVTX | 0o755
TRIES = 1000
"""To get hold of one. Whoever removes it is done in less than a millisecond."""


def has_room(path: str) -> bool:
    """Whether nothing is there, or only one of these: one look, since they come and go."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX) and status.st_uid == os.geteuid()


def hold(path: str) -> int | None:
    """The descriptor that holds it, for `let_go`: it is made where nothing is there. None where something else is.
    Raises OSError."""
    for _ in range(TRIES):
        with suppress(FileExistsError):
            os.mkdir(path, MODE)
        if not has_room(path):
            return None
        with suppress(FileNotFoundError, BlockingIOError):
            return _locked(path)
        time.sleep(0.001)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)


def let_go(path: str, descriptor: int) -> None:
    """It is gone, unless somebody else holds it, or has put something there; never raises for what cannot be
    removed."""
    try:
        with suppress(OSError):
            if _lock(descriptor, fcntl.LOCK_EX) and _is_at(descriptor, path):
                os.rmdir(path)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """One that a daemon has left which was killed."""
    with suppress(OSError):
        if has_room(path):
            let_go(path, _opened(path))


def _locked(path: str) -> int:
    """Raises FileNotFoundError, BlockingIOError where it goes just now."""
    descriptor = _opened(path)
    if _lock(descriptor, fcntl.LOCK_SH) and _is_at(descriptor, path):
        return descriptor
    os.close(descriptor)
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)


def _opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _lock(descriptor: int, kind: int) -> bool:
    """False where others keep it. On a file system without locks nobody can: daemons there do not know each other."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
