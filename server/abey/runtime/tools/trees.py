"""Trees of processes: who descends from whom, and how a whole tree is killed. Linux, stdlib only."""

import os
import signal
from collections.abc import Iterable
from typing import NamedTuple

_SET_CHILD_SUBREAPER = 36


class Place(NamedTuple):
    """Where a process stands."""

    parent: int
    session: int


def become_subreaper(on: bool) -> bool:
    """Has this process inherit the orphans among its descendants, or no longer; False where Linux is too old."""
    import ctypes

    return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)


def kill_trees(roots: Iterable[int]) -> bool:
    """Kills them and their descendants, all stopped first, so that none forks meanwhile; False if there is none."""
    tree = _with_descendants(roots)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in tree:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
    return bool(tree)


def children_of(pid: int) -> list[int]:
    return [child for child, place in places().items() if place.parent == pid]


def places() -> dict[int, Place]:
    """Every process that there is, zombies too."""
    found = ((int(name), place_of(int(name))) for name in os.listdir("/proc") if name.isdigit())
    return {pid: place for pid, place in found if place is not None}


def place_of(pid: int) -> Place | None:
    """None if there is no such process."""
    try:
        _, parent, _, session, *_ = _stat(pid)
    except (OSError, ValueError):  # it ended while we looked
        return None
    return Place(int(parent), int(session))


def has_ended(pid: int) -> bool:
    """Whether it is no more, or a zombie: only from then on are its children those of another process. Its pipes are
    closed a moment before."""
    try:
        return _stat(pid)[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def _stat(pid: int) -> list[bytes]:
    """What proc(5) says of it from its state on. Raises OSError if there is no such process."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _with_descendants(roots: Iterable[int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, place in places().items():
        children.setdefault(place.parent, []).append(pid)
    found = list(dict.fromkeys(roots))
    for above in found:
        found += children.get(above, [])
    return found
