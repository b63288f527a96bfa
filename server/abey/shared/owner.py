"""Whose a folder and the other end of a socket are: only the user's own are used (security.md, Transport)."""

import os
import socket
import stat
import struct
import sys
from pathlib import Path

_LOCAL_PEERCRED = 1
_XUCRED_BYTES = 76


class NotOurs(Exception):
    """A folder or a peer belongs to another user, or a folder is none."""


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end of a unix socket, as the kernel tells it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    credentials = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED_BYTES)
    return int(struct.unpack_from("2I", credentials)[1])


def private_folder(path: Path) -> Path:
    """`path` as a folder that only this user can enter, made if absent. Raises NotOurs, OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
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
