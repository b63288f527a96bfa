"""What a daemon that was killed left in the file system of its sandboxes: on disk before it is made, so that the next
daemon removes it."""

import json
import os
import shutil
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from abey.runtime.store.io import FileIO
from abey.runtime.tools.sandbox import stand_ins

MOST_BYTES = 1 << 20


class Leftovers:
    """Folders that are there for a while. Without a `path` nothing is known of those of another daemon."""

    def __init__(self, path: Path | None = None, io: FileIO | None = None) -> None:
        self._path = path
        self._io = io or FileIO("process")
        self._lock = threading.Lock()
        self._noted: set[str] = set()

    def note(self, folders: Iterable[str]) -> None:
        """Before they are made. Raises OSError: then nothing is to be made."""
        with self._lock:
            noted = self._noted.union(folders)
            if self._path is not None and noted != self._noted:
                self._io.replace_file(self._path, json.dumps(sorted(noted)).encode())
                self._noted = noted

    def forget(self, folders: Iterable[str]) -> None:
        """They are gone. What is still said of them on the disk harms nobody: a folder of somebody else stays."""
        with self._lock:
            self._noted -= set(folders)
            if self._path is not None and not self._noted:
                with suppress(OSError):
                    self._io.remove(self._path)

    def remove(self, folder: str) -> None:
        remove(folder)
        self.forget((folder,))

    def clear(self) -> None:
        """Removes what the daemon before left, before this one makes any. A record that is damaged says nothing."""
        with suppress(OSError, ValueError):
            left = json.loads(self._io.read(self._path, MOST_BYTES)) if self._path is not None else []
            for folder in left if isinstance(left, list) else []:
                if isinstance(folder, str) and os.path.isabs(folder):
                    remove(folder)
            self.forget(())


def remove(folder: str) -> None:
    """The scratch space of a program, or a folder that stands in for something, unless another daemon needs it; never
    raises for what cannot be removed."""
    if os.path.basename(folder).startswith(SCRATCH) and not os.path.islink(folder):
        _remove_all(folder)
    else:
        stand_ins.remove(folder)


SCRATCH = "abey-sandbox-"
"""How the name of such a folder begins."""


def _remove_all(folder: str) -> None:
    """Also what a program has locked itself out of; none of it runs any more."""
    for place, names, _ in os.walk(folder):
        for one in (place, *(os.path.join(place, name) for name in names)):
            if not os.path.islink(one):
                with suppress(OSError):
                    os.chmod(one, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
