"""What is below a folder of a workspace: no link is followed, and no folder of the daemon or of git entered."""

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass

from abey.runtime.tools.workspace.files import is_left
from abey.runtime.tools.workspace.globs import Glob
from abey.runtime.tools.workspace.paths import Own, identity, why

ENTRIES = 200_000
"""That one call looks at."""

DEPTH = 60
"""Folders in each other, all of which are open at one time."""

SKIPPED = frozenset({"node_modules", "__pycache__"})
"""Entered only with `hidden`."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Interrupted(Exception):
    """The time for the call is over, or nobody wants its result any more."""


@dataclass(frozen=True, slots=True)
class Found:
    """`path` is below the folder where the search began; `folder` is the open one that `name` is in."""

    path: str
    name: str
    folder: int
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    def shown(self) -> str:
        """As in a list of files."""
        if self.is_folder:
            return f"{self.path}/"
        if stat.S_ISLNK(self.status.st_mode):
            return f"{self.path} -> {self._target()}"
        return self.path if stat.S_ISREG(self.status.st_mode) else f"{self.path} (no regular file)"

    def _target(self) -> str:
        try:
            return os.readlink(self.name, dir_fd=self.folder)
        except OSError as error:
            return f"({why(error)})"


class Tree:
    """A look below one folder. `seen` counts, and `unread` folders could not be looked into."""

    def __init__(self, own: Own, *, hidden: bool, stopped: Callable[[], bool]) -> None:
        self._own = own.identities()
        self._hidden = hidden
        self._stopped = stopped
        self.seen = 0
        self.unread = 0
        self.is_cut = False

    def below(self, folder: int, glob: Glob, prefix: str = "", depth: int = 0) -> Generator[Found, None, None]:
        """What fits, sorted by name, folder by folder. Raises Interrupted."""
        try:
            opened = os.open(".", _FOLDER, dir_fd=folder)
        except OSError:
            self.unread += 1
            return
        try:
            for name in self._names(opened):
                yield from self._entry(opened, name, glob.after(name), prefix, depth)
        finally:
            os.close(opened)

    def _entry(self, folder: int, name: str, glob: Glob, prefix: str, depth: int) -> Iterator[Found]:
        if self._stopped():
            raise Interrupted
        self.seen += 1
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return  # it went meanwhile
        except OSError:
            self.unread += 1
            return
        found = Found(prefix + name, name, folder, status)
        if found.is_folder and identity(status) in self._own:
            return
        if glob.fits:
            yield found
        if found.is_folder and glob.goes_on and self._enters(name):
            if depth >= DEPTH:
                self.unread += 1
                return
            with suppress(NotADirectoryError):
                yield from self._inside(folder, name, glob, f"{prefix}{name}/", depth + 1)

    def _inside(self, folder: int, name: str, glob: Glob, prefix: str, depth: int) -> Iterator[Found]:
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        except OSError:
            self.unread += 1
            return
        try:
            if identity(os.fstat(inner)) not in self._own:
                yield from self.below(inner, glob, prefix, depth)
        finally:
            os.close(inner)

    def _names(self, folder: int) -> list[str]:
        room = ENTRIES - self.seen
        names = list[str]()
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) >= room:
                    self.is_cut = True
                    break
                if self._shows(entry.name):
                    names.append(entry.name)
        return sorted(names)

    def _shows(self, name: str) -> bool:
        return (self._hidden or not name.startswith(".")) and not is_left(name)

    def _enters(self, name: str) -> bool:
        return name.casefold() != ".git" and (self._hidden or name not in SKIPPED)
