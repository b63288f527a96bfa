"""What a running tool has printed so far, in a file beside the journal (journal.md, Partial output).

The file outlives the daemon, whatever ends that, and not a power cut: nothing waits for the disk. It is all or nothing
of what was last written, and nothing ever depends on it.
"""

import re
import stat
import threading
from contextlib import suppress
from pathlib import Path

from abey.runtime.store.io import CREATE, FileIO

MOST_BYTES = 1 << 20
"""A file that is larger is none of ours."""

_NAME = re.compile(r"partial-([0-9a-z][0-9a-z_-]{0,63})")


def partial_path(session: Path, invocation_id: str) -> Path:
    """In the folder of a session."""
    return session / f"partial-{invocation_id}"


def invocation_of(path: Path) -> str | None:
    """Whose output the file holds, None where it holds none."""
    found = _NAME.fullmatch(path.name)
    return found[1] if found else None


def has_partials(io: FileIO, session: Path) -> bool:
    """Whether there is any such file in the folder."""
    try:
        return any(_NAME.fullmatch(name) for name in io.names(session))
    except OSError:
        return False


def read_partial(io: FileIO, session: Path, invocation_id: str) -> str | None:
    """What was kept of an output, None where nothing was, or it cannot be read."""
    path = partial_path(session, invocation_id)
    try:
        if not stat.S_ISREG(io.status(path).st_mode):
            return None  # a link might lead to any file of the user
        return io.read(path, MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


class PartialFile:
    """Blocking; every method may be called from any thread, and raises OSError."""

    def __init__(self, io: FileIO, session: Path, invocation_id: str) -> None:
        self._io = io
        self._path = partial_path(session, invocation_id)
        self._lock = threading.Lock()
        self._is_gone = False

    @property
    def name(self) -> str:
        return str(self._path)

    def write(self, text: str) -> None:
        """The file holds this text, and nothing else; after `remove` there is none."""
        with self._lock:
            if not self._is_gone:
                self._replace(text.encode("utf-8"))

    def remove(self) -> None:
        """There is no file, and none is made any more."""
        with self._lock:
            self._is_gone = True
            with suppress(FileNotFoundError, NotADirectoryError):
                self._io.remove(self._path)

    def _replace(self, data: bytes) -> None:
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            self._fill(new, data)
            self._io.rename(new, self._path)
        except OSError:
            # the first error is the one to report; what stays behind is found by the next clean-up
            with suppress(OSError):
                self._io.remove(new)
            raise

    def _fill(self, new: Path, data: bytes) -> None:
        """A new file: whatever has its name, a link or a pipe, is never opened."""
        with suppress(FileNotFoundError):
            self._io.remove(new)
        descriptor = self._io.open(new, CREATE)
        try:
            self._io.write_whole(descriptor, data)
        finally:
            self._io.close(descriptor)
