"""One daemon a state directory: a lock that the system takes back when its holder dies (journal.md)."""

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pydantic would delay the socket
    from abey.protocol.base import Timestamp

Flock = Callable[[int, int], None]


class StateLocked(Exception):
    """Another daemon has the state directory; `pid` is what it wrote about itself, None when it has not yet."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another daemon" if pid is None else f"the daemon with pid {pid}"
        super().__init__(f"{who} holds {path}")
        self.pid = pid


class LockingUnsupported(Exception):
    """The file system has no flock: two daemons could write one journal."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(
            f"the file system of {path} cannot lock files: {error.strerror}; choose another ABEY_STATE_DIR"
        )


class DaemonLock:
    """A held lock. A child that is forked without exec must close `descriptor`: it would hold the lock, too."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """The file stays: removing it would let two daemons in."""
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)


def lock_state(state_dir: Path, now: "Timestamp", flock: Flock = fcntl.flock) -> DaemonLock:
    """The lock of `state_dir`, which exists. Raises StateLocked, LockingUnsupported, OSError."""
    path = state_dir / "daemon.lock"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _take(descriptor, path, flock)
            if _is_at(descriptor, path):
                os.fchmod(descriptor, 0o600)
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"pid {os.getpid()}\nstarted {now}\n".encode())
                return DaemonLock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _take(descriptor: int, path: Path, flock: Flock) -> None:
    try:
        flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        found = re.match(rb"pid (\d+)\n", os.pread(descriptor, 64, 0))
        raise StateLocked(path, int(found[1]) if found else None) from None
    except OSError as error:
        raise LockingUnsupported(path, error) from error


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still is the file that was locked: somebody may have removed it, another daemon made a new one."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
