"""The log of a daemon: its levels and, of one that nobody watches, its file, how large that gets, and whose it is."""

import os
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

LOG_LEVELS = ("debug", "info", "warning", "error")

LOG_BYTES = 4 << 20
"""A log longer than this is put away, and the next one begun."""

KEPT_LOGS = 3
"""So many old ones are kept: `daemon.log.1` is the newest of them."""


def open_log(path: Path) -> int:
    """A descriptor to append to the log, made 0600 where it is absent. Raises OSError."""
    # O_NONBLOCK: at a named pipe in its place one would wait for a reader
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def put_away(path: Path) -> None:
    """The log becomes the newest of the old ones, and the oldest of these goes. Raises OSError."""
    for old, older in reversed(list(pairwise([path, *old_logs(path)]))):
        with suppress(FileNotFoundError):  # there were fewer, or another program does the same
            old.replace(older)


def old_logs(path: Path) -> list[Path]:
    """Where the old ones of a log are, the newest first."""
    return [path.with_name(f"{path.name}.{number}") for number in range(1, KEPT_LOGS + 1)]
