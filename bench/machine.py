"""One user's machine in a folder: state, config and runtime folders, and daemons that serve them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from abey.shared.starting import NoDaemon, connect
from bench.client import Client
from bench.counting import read_counter
from bench.daemon import COUNTER

ROOT = Path(__file__).parents[1]
PATIENCE = 60.0
_KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH")
_LOOK_SECONDS = 0.001

Process = subprocess.Popen[bytes]


class Machine:
    """Nothing else of the user's own is read or written. `module` is the program that serves, `under` what runs it."""

    def __init__(self, folder: Path, module: str = "bench.daemon", under: Sequence[str] = (), **more: str) -> None:
        self.folder = folder
        self._command = [*under, sys.executable, "-m", module]
        self.state, self.work = folder / "state", folder / "work"
        self.counter = folder / "syncs"
        for each in (self.work, folder / "home", folder / "config"):
            each.mkdir(parents=True, exist_ok=True)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = [str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]
        self.env = {
            **kept,
            "PYTHONPATH": os.pathsep.join(paths),
            "HOME": str(folder / "home"),
            "ABEY_STATE_DIR": str(self.state),
            "ABEY_CONFIG_DIR": str(folder / "config"),
            "ABEY_RUNTIME_DIR": str(folder / "run"),
            COUNTER: str(self.counter),
            **more,
        }

    @property
    def syncs(self) -> int:
        return read_counter(self.counter)

    def spawn(self, *arguments: str, pipes: bool = False) -> Process:
        """The program, which may not serve yet."""
        stream = subprocess.PIPE if pipes else subprocess.DEVNULL
        command = [*self._command, *arguments]
        with (self.folder / "daemon.log").open("ab") as log:
            return Process(command, cwd=self.folder, env=self.env, stdin=stream, stdout=stream, stderr=log)

    def reach(self) -> Client | None:
        """Somebody at the other end, who may not answer yet; None where nobody listens."""
        try:
            return Client.of_socket(connect(self.state, self.env, start=False, timeout=PATIENCE))
        except NoDaemon:
            return None

    def client(self, process: Process) -> Client:
        """A client of the daemon that this process is, once it listens; it has not greeted yet."""
        end = time.monotonic() + PATIENCE
        while (found := self.reach()) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no daemon: {(self.folder / 'daemon.log').read_text()[-2000:]}")
            time.sleep(_LOOK_SECONDS)
        return found

    @contextmanager
    def serving(self) -> Iterator[tuple[Process, Client]]:
        """A daemon and a client that has greeted it. When it is left, the daemon has ended by itself."""
        process = self.spawn()
        try:
            client = self.client(process)
            client.greet(self.env)
            yield process, client
            client.close()
        finally:
            ended(process)

    @contextmanager
    def piped(self) -> Iterator[tuple[Process, Client]]:
        """The same over the pipes of a daemon of its own."""
        process = self.spawn("--stdio", "--standalone", pipes=True)
        try:
            client = Client.of_pipes(process)
            client.greet(self.env)
            yield process, client
        finally:
            ended(process)


def ended(process: Process) -> None:
    """Asks it to end, and returns when it has; kills it where it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
