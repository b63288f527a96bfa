"""Opens what is a regular file, and nothing that could keep us waiting."""

import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotRegular(Exception):
    """A folder, a pipe, a device."""


def open_regular(path: str | Path) -> tuple[BinaryIO, os.stat_result]:
    """The open file and what the system says of it. Raises OSError, ValueError for a path that is none, NotRegular."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise NotRegular
    return os.fdopen(handle, "rb"), found
