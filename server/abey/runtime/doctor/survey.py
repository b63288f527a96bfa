"""One walk through the state directory; links are not followed."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from abey.runtime.doctor.host import Host
from abey.runtime.store.leftovers import TEMPORARY_SECONDS, is_temporary

MOST_FILES = 200_000
MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Survey:
    """`complete` is False where there were more than MOST_FILES; the paths are relative, at most MOST_KEPT each."""

    bytes: int
    files: int
    complete: bool
    strangers: tuple[str, ...]
    open_to_others: tuple[str, ...]
    temporary: tuple[str, ...]


def survey(host: Host, folder: Path) -> Survey:
    """Raises FileNotFoundError where there is no folder, OSError where it cannot be read."""
    size = files = 0
    strangers: list[str] = []
    open_to_others: list[str] = []
    temporary: list[str] = []
    before = host.seconds() - TEMPORARY_SECONDS
    for name, status in _walk(host, folder, ""):
        if files == MOST_FILES:
            break
        files += 1
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if status.st_uid != host.uid:
            strangers.append(name)
        elif stat.S_IMODE(status.st_mode) & 0o077 and not stat.S_ISLNK(status.st_mode):
            open_to_others.append(name)
        if is_temporary(Path(name)) and stat.S_ISREG(status.st_mode) and status.st_mtime < before:
            temporary.append(name)
    kept = (tuple(paths[:MOST_KEPT]) for paths in (strangers, open_to_others, temporary))
    return Survey(size, files, files < MOST_FILES, *kept)


def _walk(host: Host, folder: Path, above: str) -> Iterator[tuple[str, os.stat_result]]:
    for name in sorted(host.names(folder)):
        path = folder / name
        try:
            status = host.status(path)
        except FileNotFoundError:  # it went while we looked
            continue
        yield f"{above}{name}", status
        if stat.S_ISDIR(status.st_mode):
            yield from _entered(host, path, f"{above}{name}/")


def _entered(host: Host, folder: Path, above: str) -> Iterator[tuple[str, os.stat_result]]:
    """What is in a folder below; one that cannot be read is a matter of its own check."""
    try:
        yield from _walk(host, folder, above)
    except (FileNotFoundError, PermissionError):
        return
