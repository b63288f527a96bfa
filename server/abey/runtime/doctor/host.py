"""The machine as the checks see it: whatever is here only looks, and a test says what is seen."""

import fcntl
import importlib
import importlib.util
import os
import resource
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from abey.runtime.store.io import FileIO, Space

if TYPE_CHECKING:
    from abey.runtime.around import FoundExtension

Lock = Literal["free", "held", "absent"]


class Host:
    """Every method raises OSError where the system does not tell."""

    def __init__(self, io: FileIO | None = None) -> None:
        self.io = io or FileIO("process")

    @property
    def platform(self) -> str:
        return sys.platform

    @property
    def python(self) -> tuple[int, int, int]:
        return sys.version_info[:3]

    @property
    def uid(self) -> int:
        return os.getuid()

    def seconds(self) -> float:
        """Since 1970."""
        return time.time()

    def status(self, path: Path) -> os.stat_result:
        return self.io.status(path)

    def names(self, path: Path) -> list[str]:
        return self.io.names(path)

    def read(self, path: Path) -> bytes:
        return self.io.read(path)

    def text(self, path: str) -> str:
        """Of a file that the system makes up as it is read."""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def space(self, path: Path) -> Space:
        return self.io.space(path)

    def writable(self, path: Path) -> bool:
        return os.access(path, os.W_OK | os.X_OK)

    def lock(self, path: Path) -> Lock:
        """What a file, or a directory, is to who wants its flock. Raises OSError where there are none."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return "absent"
        try:
            # shared and given back at once: a daemon that starts at this very moment tries again
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "held"
        finally:
            os.close(descriptor)
        return "free"

    def sandbox(self, ours: Sequence[Path], env: Mapping[str, str]) -> tuple[str | None, str]:
        """What builds the sandboxes of a daemon with these places, None for nothing; and why nothing better does. Runs
        a program in one."""
        from abey.runtime.tools.sandbox.layout import surroundings  # what the check of dependencies looks for
        from abey.runtime.tools.sandbox.sandbox import Sandbox

        found = Sandbox(surroundings(ours, env)).found()
        return found.name, found.why

    def descriptors(self) -> tuple[int, int]:
        """How many files this process may have open: now, and at most."""
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    def import_fault(self, module: str) -> str | None:
        """Why a module cannot be imported, or None."""
        try:
            importlib.import_module(module)
        except Exception as fault:  # noqa: BLE001 - a broken package raises whatever it likes
            return f"{type(fault).__name__}: {fault}"
        return None

    @property
    def programs(self) -> Path:
        """The folder of the programs of this installation."""
        return Path(sys.executable).parent

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of this process: the daemon's, where one examines itself."""
        return os.environ

    def program(self, name: str, env: Mapping[str, str]) -> Path | None:
        """Where a program is found by who has this environment."""
        found = shutil.which(name, path=env.get("PATH", ""))
        return Path(found) if found else None

    def is_ours(self, program: Path) -> bool:
        """Whether a program, or what it is a link to, is one of this installation."""
        return self.programs in (program.parent, Path(os.path.realpath(program)).parent)

    def has(self, module: str) -> bool:
        """Whether there is such a module; imports at most the packages above it."""
        try:
            return importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:
            return False

    def extensions(self) -> "Sequence[FoundExtension]":
        """Those that a daemon which is started now would find; runs their code."""
        from abey.runtime.extending.installed import described  # not where pydantic may be broken
        from abey.runtime.extending.loading import load_installed

        return described(load_installed())

    def full_text_search(self) -> bool:
        """Whether this Python's SQLite has FTS5."""
        import sqlite3  # it takes long, and a daemon does not need it to start

        with sqlite3.connect(":memory:") as database:
            try:
                database.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
            except sqlite3.OperationalError:
                return False
            finally:
                database.rollback()
        return True

    @property
    def sqlite(self) -> str:
        import sqlite3

        return sqlite3.sqlite_version
