"""A nursery of daemons: it imports the daemon once, and forks one for every order that may die at a chosen write.

Orders come as JSON lines on stdin: {env, moment, at, shaky, seed}; each is answered with a line when its daemon is on
its way.
"""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from abey.daemon.main import run
from abey.daemon.settings import Settings, read_settings
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL

if TYPE_CHECKING:
    from support.e2e import Place
    from support.e2e_peer import Peer

Moment = Literal["never", "before", "torn", "after"]
"""When the daemon dies: before a write, in the middle of it, or when it is durable and nothing has followed yet."""


@dataclass(frozen=True, slots=True)
class Death:
    """`at` counts the writes to journals from 1."""

    moment: Moment = "never"
    at: int = 0


ALIVE = Death()


class DyingIO(FileIO):
    """The disk, up to the death of the process; what was written and synced is told in the file `diary`."""

    def __init__(self, settings: Settings, death: Death) -> None:
        super().__init__(settings.durability)
        self._death = death
        self._diary = settings.state_dir.parent / "diary"
        self._journals: set[int] = set()
        self._writes = 0

    def open(self, path: Path, flags: int) -> int:
        descriptor = super().open(path, flags)
        if path.name == JOURNAL and flags & os.O_APPEND:
            self._journals.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        self._journals.discard(descriptor)
        super().close(descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        self._writes += descriptor in self._journals
        self._die_if_due(descriptor, "before")
        if self._due(descriptor, "torn"):
            super().write(descriptor, data[: len(data) // 2])
        self._die_if_due(descriptor, "torn")
        written = super().write(descriptor, data)
        self._tell(descriptor, f"wrote {written}")
        return written

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._tell(descriptor, "synced")
        self._die_if_due(descriptor, "after")

    def _die_if_due(self, descriptor: int, moment: Moment) -> None:
        if self._due(descriptor, moment):
            os.kill(os.getpid(), signal.SIGKILL)

    def _tell(self, descriptor: int, what: str) -> None:
        if descriptor in self._journals:
            with self._diary.open("a") as diary:
                diary.write(f"{what}\n")

    def _due(self, descriptor: int, moment: Moment) -> bool:
        return descriptor in self._journals and self._death == Death(moment, self._writes)


class ShakyIO(FileIO):
    """The disk, whose writes and syncs fail now and then; a failed write may leave a part of its bytes."""

    def __init__(self, settings: Settings, rate: float, seed: int) -> None:
        super().__init__(settings.durability)
        self._rate = rate
        self._chance = Random(seed)

    def write(self, descriptor: int, data: memoryview) -> int:
        if self._chance.random() < self._rate:
            super().write(descriptor, data[: self._chance.choice([0, len(data) // 2])])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        if self._chance.random() < self._rate:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(descriptor)


class Nursery:
    """The test's side: where a daemon that a shell starts takes most of a second, one from here is there at once."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", __file__]
        tree = os.pathsep.join(sys.path)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": tree}, stdin=pipe, stdout=pipe, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._process.communicate()

    def wake(self, place: "Place", death: Death = ALIVE, shaky: float = 0.0, seed: int = 0) -> "Peer":
        """A client of a new daemon of `place`, where none runs; `shaky` is how often its writes and syncs fail."""
        from support.e2e import until

        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        # a client sees the end of one that was killed a moment before the system has taken back its lock
        until(lambda: _is_free(place.state / "daemon.lock"), "for the end of the daemon before")
        order = {"env": place.env, "moment": death.moment, "at": death.at, "shaky": shaky, "seed": seed}
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        stdout.readline()
        peer: Peer = until(place.reach, "for a daemon")
        return peer


def _is_free(lock: Path) -> bool:
    if not lock.exists():
        return True
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _serve_orders() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        order = json.loads(line)
        if os.fork() == 0:
            os._exit(_be_a_daemon(order))
        print("forked", flush=True)


def _be_a_daemon(order: dict[str, Any]) -> int:
    """As shared/starting.py starts one."""
    from abey.daemon.app import create

    os.setsid()
    os.chdir("/")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = Path(order["env"]["ABEY_STATE_DIR"]).parent / "daemon.log"
    with open(os.devnull) as nothing, log.open("a") as output:
        for descriptor, file in ((0, nothing), (1, output), (2, output)):
            os.dup2(file.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(order["env"])
    settings = read_settings([], os.environ)
    shaky = order["shaky"]
    dying = DyingIO(settings, Death(order["moment"], order["at"]))
    io: FileIO = ShakyIO(settings, shaky, order["seed"]) if shaky else dying
    return run(settings, partial(create, io=io))


def _load() -> None:
    """What takes long, once for all."""
    import abey.daemon.app
    import abey.daemon.serving  # noqa: F401  loaded for its effect


if __name__ == "__main__":
    _load()
    with closing(sys.stdin):
        _serve_orders()
