"""An editor that can be killed while somebody else, who outlives it, holds its end of the server's pipe open."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import Any, Self

from abey.rpc.framing import frame

EDITOR = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
# somebody else, who outlives the editor, has its end of the pipe, too
keeper = subprocess.Popen(["sleep", "100"], stdin=process.stdout, stdout=process.stdin, stderr=subprocess.DEVNULL)
print(process.pid, keeper.pid, flush=True)
while data := sys.stdin.buffer.read1(65536):
    process.stdin.write(data); process.stdin.flush()
    print(process.stdout.readline().decode().strip(), flush=True)
"""


class Editor:
    """A process between the test and a server: what it is told goes to the server. With it ends who holds the pipe."""

    def __init__(self, env: dict[str, str], *server: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", EDITOR, *server], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        server_pid, self._keeper = map(int, self._line().split())
        self.server = os.pidfd_open(server_pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._keeper, signal.SIGKILL)
        os.close(self.server)

    def says(self, **message: Any) -> str:
        """The first line of what the server answers."""
        assert self.process.stdin is not None
        self.process.stdin.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
        self.process.stdin.flush()
        return self._line()

    def is_killed(self) -> None:
        self.process.kill()
        self.process.communicate()

    async def server_ended(self) -> None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.server, ended.set)
        async with asyncio.timeout(20):
            await ended.wait()
        asyncio.get_running_loop().remove_reader(self.server)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()
