"""The disk floor: what little is left on a nearly full disk is kept for the records of what goes on already."""

import errno
from collections.abc import Callable
from pathlib import Path

from abey.errors import RecordFailed
from abey.runtime.store.io import Space

FLOOR_BYTES = 200 << 20
SMALL_DISK_BYTES = 64 << 20
SMALL_DISK_SHARE = 0.02
"""A disk that is smaller is somebody's choice: there the floor is this share of it."""

CACHE_MILLIS = 1000


def floor(space: Space) -> int:
    """The bytes that have to be free, for new sessions and tool runs, on a disk like this."""
    return FLOOR_BYTES if space.total >= SMALL_DISK_BYTES else int(space.total * SMALL_DISK_SHARE)


class DiskFloor:
    """Looks at the disk at most once a second."""

    def __init__(self, path: Path, look: Callable[[], Space]) -> None:
        """`look` gives the space on the disk of `path`, or raises OSError."""
        self._path = path
        self._look = look
        self._seen: tuple[int, Space | None] | None = None

    def refusal(self, millis: int) -> RecordFailed | None:
        """Why no session and no tool may be started at this time (milliseconds since 1970), or None."""
        space = self._space(millis)
        if space is None or space.free >= floor(space):
            return None
        message = (
            f"{in_words(space.free)} are free on the disk of {self._path}, and new sessions and tools need "
            f"{in_words(floor(space))}; make room on it (`abey gc --dry-run` says what abey can spare), then try again"
        )
        return RecordFailed(
            message, errno=errno.ENOSPC, errnoName="ENOSPC", freeBytes=space.free, neededBytes=floor(space)
        )

    def check(self, millis: int) -> None:
        """Raises RecordFailed where `refusal` gives a reason."""
        refusal = self.refusal(millis)
        if refusal is not None:
            raise refusal

    def _space(self, millis: int) -> Space | None:
        """None where the system does not tell: then the first write that fails will."""
        if self._seen is None or not 0 <= millis - self._seen[0] < CACHE_MILLIS:
            try:
                self._seen = (millis, self._look())
            except OSError:
                self._seen = (millis, None)
        return self._seen[1]


def in_words(size: int) -> str:
    """Bytes, for people."""
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / (1 << 10):.1f} KiB"
