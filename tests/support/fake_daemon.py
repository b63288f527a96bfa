"""`abey-daemon` over the surface of a test, as a program, and how a test starts it and the real forwarder."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

from support.raw_peer import PATIENCE, RawPeer, Stage, until

from abey.daemon.main import run
from abey.daemon.settings import Settings, read_settings
from abey.rpc.dispatch import Surface

ROOT = Path(__file__).parents[2]


class FakeApp:
    """Serves a Stage; busy for as long as somebody waits in it."""

    def __init__(self) -> None:
        self._stage = Stage()
        self.stop_requested = asyncio.Event()

    @property
    def surface(self) -> Surface:
        return self._stage.surface

    @property
    def busy(self) -> bool:
        return self._stage.waiting > 0

    async def start(self) -> None:
        print("this goes to no client", flush=True)

    async def drain(self) -> None:
        """Waits for who waits, as long as it takes."""
        print("draining", file=sys.stderr, flush=True)
        await until(lambda: not self.busy)
        print("drained", file=sys.stderr, flush=True)

    async def close(self) -> None:
        print("closed", file=sys.stderr, flush=True)


def create(settings: Settings) -> FakeApp:
    return FakeApp()


def environment(root: Path) -> dict[str, str]:
    """One user's machine in a folder: nothing else is read or written."""
    paths = [str(ROOT / folder) for folder in ("server", "cli", "tests")]
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        "PYTHONPATH": os.pathsep.join(paths),
        "ABEY_STATE_DIR": str(root / "state"),
        "ABEY_CONFIG_DIR": str(root / "config"),
        "ABEY_RUNTIME_DIR": str(root / "run"),
        "ABEY_DAEMON": shlex.join([sys.executable, "-P", __file__]),
    }


class Program:
    """A process whose stdin and stdout are a peer's."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.peer = RawPeer(process.stdout, process.stdin)

    @classmethod
    async def start(cls, env: dict[str, str], *command: str) -> "Program":
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        return cls(process)

    @classmethod
    async def daemon(cls, env: dict[str, str], *arguments: str) -> "Program":
        return await cls.start(env, sys.executable, "-P", __file__, *arguments)

    @classmethod
    async def forwarder(cls, env: dict[str, str]) -> "Program":
        return await cls.start(env, sys.executable, "-P", "-m", "abey.daemon", "--stdio")

    async def end(self) -> tuple[int, str]:
        """The exit status and what stood on stderr, once it is over."""
        async with asyncio.timeout(PATIENCE):
            _, errors = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, errors.decode()


if __name__ == "__main__":
    sys.exit(run(read_settings(sys.argv[1:], os.environ), create))
