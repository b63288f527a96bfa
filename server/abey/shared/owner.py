"""Whose a folder and the other end of a socket are: only the user's own are used (security.md, Transport)."""

import os
import socket
import stat
import struct
import sys
from pathlib import Path

from abey.shared.places import EVERYBODYS

_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED_BYTES = 76


_OURS = frozenset(
    {"sessions", "configs", "trash", "logs", "run", "documents", "agents", "keys.json", "prices.json", "lost+found"}
)
"""Also the folder of agents may be the same, and a file system of its own has a folder of its own."""


class NotOurs(Exception):
    """A folder or a peer belongs to another user, or a folder is none, or is used for something else."""


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end of a unix socket, as the kernel tells it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    credentials = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED_BYTES)
    return int(struct.unpack_from("2I", credentials)[1])


def peer_pid(connection: socket.socket) -> int:
    """The process that listens at the other end of a unix socket, as the kernel tells it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0])
    return connection.getsockopt(0, _LOCAL_PEERPID)


def state_folder(path: Path) -> Path:
    """`path` as the private folder of sessions, made if absent. One that holds other things, too, keeps its mode, as
    long as others may not write there: what is made in it is private anyway. Raises NotOurs: why, and the way out."""
    try:
        if not path.is_dir():
            return private_folder(path)
        if any(folder.exists() and folder.samefile(path) for folder in EVERYBODYS):
            raise NotOurs(f"{path} is everybody's folder")
        return path if _is_kept(path) else private_folder(path)
    except (NotOurs, OSError) as error:
        reason = f"{error.filename or path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise NotOurs(f"{reason}; name another place with ABEY_STATE_DIR or `abey --state-dir`") from error


def private_folder(path: Path) -> Path:
    """`path` as a folder that only this user can enter, made if absent. Raises NotOurs, OSError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotOurs(f"{path} is not a folder") from error
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) and found.st_uid == os.getuid():
        found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotOurs(f"{path} is not a folder")
    if found.st_uid != os.getuid():
        raise NotOurs(f"{path} belongs to user {found.st_uid}, not to {os.getuid()}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
    return path


def _is_kept(path: Path) -> bool:
    """Whether it is this user's, others may not write there, and it holds what is none of ours."""
    found = path.stat()
    names = set(os.listdir(path)) - _OURS
    strangers = any(not name.startswith(("daemon.", "index.sqlite", "trust.json", "leftovers.json")) for name in names)
    return strangers and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o022
