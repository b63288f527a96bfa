"""A machine that is as a test says; its files are real."""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from abey.runtime.around import FoundExtension
from abey.runtime.disk import FLOOR_BYTES
from abey.runtime.doctor.host import Host, Lock
from abey.runtime.store.io import FileIO, Space

MOUNTS = "/dev/root / ext4 rw 0 0\nproc /proc proc rw 0 0\n"
NOW = 2_000_000_000.0


class FakeHost(Host):
    """Everything is well until a test says otherwise. An OSError among the values is raised."""

    platform = "linux"
    python = (3, 11, 7)
    uid = os.getuid()
    sqlite = "3.40.1"

    def __init__(self, io: FileIO | None = None) -> None:
        super().__init__(io)
        self.texts: dict[str, str] = {
            "/proc/mounts": MOUNTS,
            "/proc/sys/kernel/seccomp/actions_avail": "kill_process errno allow\n",
            "/proc/sys/fs/inotify/max_user_watches": "65536\n",
            "/proc/sys/fs/inotify/max_user_instances": "128\n",
        }
        self.now = NOW
        self.room = Space(100 * FLOOR_BYTES, 50 * FLOOR_BYTES)
        self.unwritable: set[Path] = set()
        self.locks: dict[str, Lock | OSError] = {}
        self.isolation: tuple[str | None, str] = ("bubblewrap", "")
        self.files = (1024, 4096)
        self.broken: dict[str, str] = {}
        self.fts = True
        self.found: dict[str, Path] = {name: self.programs / name for name in ("abey", "abey-daemon", "nvim")}
        self.without: set[str] = set()
        self.env: dict[str, str] = {}
        self.installed: tuple[FoundExtension, ...] = ()
        self.asked: list[tuple[tuple[Path, ...], Mapping[str, str]]] = []

    def seconds(self) -> float:
        return self.now

    def text(self, path: str) -> str:
        if path not in self.texts:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.texts[path]

    def space(self, path: Path) -> Space:
        assert path.is_dir()
        return self.room

    def writable(self, path: Path) -> bool:
        return path not in self.unwritable

    def lock(self, path: Path) -> Lock:
        known = self.locks.get(path.name, "free" if path.exists() else "absent")
        if isinstance(known, OSError):
            raise known
        return known

    def sandbox(self, ours: Sequence[Path], env: Mapping[str, str]) -> tuple[str | None, str]:
        self.asked.append((tuple(ours), env))
        return self.isolation

    def descriptors(self) -> tuple[int, int]:
        return self.files

    def import_fault(self, module: str) -> str | None:
        return self.broken.get(module)

    @property
    def programs(self) -> Path:
        return Path("/opt/abey/bin")

    @property
    def variables(self) -> Mapping[str, str]:
        return self.env

    def program(self, name: str, env: Mapping[str, str]) -> Path | None:
        return self.found.get(name)

    def has(self, module: str) -> bool:
        return module not in self.without

    def extensions(self) -> tuple[FoundExtension, ...]:
        return self.installed

    def full_text_search(self) -> bool:
        return self.fts


def refused(number: int) -> OSError:
    return OSError(number, os.strerror(number))
