"""Which files somebody opens, as the kernel tells it (Linux)."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN = 0x20
_HEAD = struct.Struct("iIII")


class Opens:
    """What was opened in some folders since it was asked last: names, `.` for a folder itself."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def taken(self) -> list[str]:
        """Each once, in order."""
        try:
            data = os.read(self._descriptor, 1 << 20)
        except BlockingIOError:
            return []
        found: list[str] = []
        while data:
            length = _HEAD.unpack_from(data)[3]
            name = data[_HEAD.size : _HEAD.size + length].rstrip(b"\0")
            found.append(os.fsdecode(name) or ".")
            data = data[_HEAD.size + length :]
        return list(dict.fromkeys(found))


@contextmanager
def opens(*folders: Path) -> Iterator[Opens]:
    """Hears of opens of the folders and of what is in them, not deeper."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    try:
        for folder in folders:
            assert libc.inotify_add_watch(descriptor, os.fsencode(folder), _OPEN) >= 0, folder
        yield Opens(descriptor)
    finally:
        os.close(descriptor)
