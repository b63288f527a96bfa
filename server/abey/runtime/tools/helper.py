"""The daemon's side of the process helper: one helper, started with the first program."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.processes import CannotStart, Ended, Program, Running, close_all, readable, writable

_HELPER = Path(__file__).with_name("helper_process.py")
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH")


class ProcessHelper:
    """A Launcher whose programs leave nothing behind, whatever they do and however they or the daemon end.

    Without the Linux features it needs it starts programs in process groups, and `leaves_nothing` is False.
    """

    def __init__(self, program: Path = _HELPER) -> None:
        self._program = program
        self._starting = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._groups = GroupLauncher()
        self.leaves_nothing = sys.platform == "linux" and os.path.isdir("/proc/self")

    async def launch(self, program: Program, out: int) -> Running:
        while self.leaves_nothing:
            connection = await self._connected()
            if connection is None:
                break
            try:
                return await _launched(connection, program, out)
            except (BrokenPipeError, ConnectionResetError):
                await self._forget(connection)  # the helper was killed before it got this: start another
        return await self._groups.launch(program, out)

    async def close(self) -> None:
        """Ends the helper. Programs that run go on being supervised."""
        async with self._starting:
            await self._end()

    async def _forget(self, connection: socket.socket) -> None:
        async with self._starting:
            if self._connection is connection:
                await self._end()

    async def _connected(self) -> socket.socket | None:
        async with self._starting:
            if self._connection is None:
                self._process, self._connection = _started(self._program)
                if not await _is_ready(self._connection):
                    self.leaves_nothing = False
                    await self._end()
            return self._connection

    async def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)
            self._process = None


async def _is_ready(connection: socket.socket) -> bool:
    try:
        return await asyncio.get_running_loop().sock_recv(connection, 16) != b""
    except ConnectionResetError:
        return False


def _started(program: Path) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """A new helper and our end of its socket. Its environment holds no secret: tools can read it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    number = theirs.fileno()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", str(program), str(number)],
            pass_fds=(number,),
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return process, ours


async def _launched(connection: socket.socket, program: Program, out: int) -> Running:
    life, life_end = os.pipe()
    status, status_end = os.pipe()
    text = _written(program)
    try:
        await _send(connection, [text, out, life, status_end])
    except BaseException:
        close_all(life_end, status)
        raise
    finally:
        close_all(text, life, status_end)
    return _Supervised(life_end, status)


def _written(program: Program) -> int:
    """An open file that holds the JSON of `program`: an argv may be larger than a datagram."""
    content = json.dumps({"argv": program.argv, "cwd": program.cwd, "env": program.env}).encode("ascii")
    descriptor = os.memfd_create("abey-program")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _send(connection: socket.socket, descriptors: list[int]) -> None:
    while True:
        try:
            socket.send_fds(connection, [b"start"], descriptors)
            return
        except BlockingIOError:
            await writable(connection.fileno())


class _Supervised:
    """A program under a supervisor: ending `life` kills it, `status` tells how it ended."""

    def __init__(self, life: int, status: int) -> None:
        self._life: int | None = life
        self._status: int | None = status
        self._told = b""

    async def ended(self) -> Ended:
        while self._status is not None and not self._told.endswith(b"\n"):
            await readable(self._status)
            data = os.read(self._status, 8192)
            if not data:
                raise CannotStart("the process helper was killed; the program may have run")
            self._told += data
        return _ended(json.loads(self._told))

    def kill(self) -> None:
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def close(self) -> None:
        self.kill()
        if self._status is not None:
            os.close(self._status)
            self._status = None


def _ended(told: dict[str, Any]) -> Ended:
    if "fault" in told:
        raise CannotStart(told["fault"])
    return Ended(exit_code=told.get("exit"), signal=9 if told.get("killed") else told.get("signal"))
