"""The daemon's socket and the file that says where it is; light, so that clients can connect before anything else is
imported. Only the holder of the daemon lock calls this: whatever lies at the path is a dead daemon's."""

import os
import socket
from pathlib import Path

from abey.shared.owner import private_folder
from abey.shared.places import address_path

BACKLOG = 128

Identity = tuple[int, int]
"""Device and inode of a socket file."""


def bind(path: Path) -> socket.socket:
    """A listening socket at `path` (0600, in a 0700 folder of ours); it takes the place of an older one at once, so
    that nobody who connects meanwhile is refused. Raises NotOurs, OSError."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name[:8]}")
    draft.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(os.fspath(draft))
        draft.chmod(0o600)
        listening.listen(BACKLOG)
        draft.rename(path)
    except BaseException:
        listening.close()
        raise
    return listening


def identity(path: Path) -> Identity | None:
    """What lies at `path`, or None."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found.st_dev, found.st_ino)


def write_address(state: Path, path: Path) -> None:
    """Says in `<state>/daemon.addr` that the daemon listens at `path`."""
    write_private(address_path(state), os.fsencode(path))


def write_private(file: Path, line: bytes) -> None:
    """One line in a file (0600) that is there whole or as it was before."""
    draft = file.with_name(f"{file.name}.new")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as written:
        written.write(line + b"\n")
    draft.replace(file)
