"""A helper that runs, and our end of its socket."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

from abey.runtime.tools.descriptors import Inlet, Outlet, completed
from abey.runtime.tools.orphans import Orphans
from abey.runtime.tools.processes import CannotStart, Program
from abey.runtime.tools.supervised import HelperLost, Supervised

_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH")
_END_SECONDS = 2.0
"""How long a helper may take to end, before and again after it is killed."""


class RunningHelper:
    """A Keeper."""

    def __init__(self, command: tuple[str, ...], answer_seconds: float) -> None:
        self._answer_seconds = answer_seconds
        self._process, self._connection = _started(command)
        self._news = asyncio.Event()
        self._said_ready = False
        self.is_lost = False
        self._inlet = Inlet(os.dup(self._connection.fileno()), self._take)
        self._outlet = Outlet(self._connection.fileno())
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()

    async def is_ready(self) -> bool:
        """Whether it ever was; False if it ended before. Raises CannotStart if it does not say."""
        async with self._answering():
            while not self._said_ready and not self.is_lost:
                self._news.clear()
                await self._news.wait()
        return self._said_ready

    async def start(self, program: Program, streams: tuple[int, ...], orphans: Orphans) -> Supervised:
        """`streams` are its output, or its stdin, stdout and stderr. Raises CannotStart; HelperLost, when the program
        was not started and another helper may do it."""
        supervised = None
        try:
            async with self._answering():
                supervised = await self._sent(program, streams, orphans)
                await supervised.started()
        except BaseException as fault:
            self.is_lost = self.is_lost or isinstance(fault, HelperLost)
            if supervised is not None:
                await completed(asyncio.ensure_future(supervised.end()))
            raise
        return supervised

    async def end(self) -> bool:
        """Ends it in a few seconds: whether it did so by itself, and so left nothing."""
        self.is_lost = True
        self._outlet.close()
        self._inlet.close()
        self._connection.close()
        self.wake()
        if not await self._has_ended():
            self.kill()
            await self._has_ended()
        return self._process.returncode == 0

    async def _has_ended(self) -> bool:
        try:
            await asyncio.to_thread(self._process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    @contextlib.asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._answer_seconds):
                yield
        except TimeoutError:
            self.kill()
            raise CannotStart("the process helper does not answer") from None

    def _take(self, data: bytes) -> None:
        self._said_ready = self._said_ready or bool(data)
        self.is_lost = self.is_lost or not data
        self._news.set()

    async def _sent(self, program: Program, streams: tuple[int, ...], orphans: Orphans) -> Supervised:
        with contextlib.ExitStack() as passed:
            with contextlib.ExitStack() as kept:
                life, life_end = _pipe(passed, kept)
                status_end, status = _pipe(kept, passed)
                text = _owned(passed, _written(program))
                supervised = Supervised(self, orphans, life_end, status_end)
                kept.pop_all()
            try:
                self.wake()
                await self._send([text, *streams, life, status])
            except BaseException:
                supervised.close()
                raise
        return supervised

    async def _send(self, descriptors: list[int]) -> None:
        async with self._turn:
            while not self.is_lost:
                try:
                    socket.send_fds(self._connection, [b"start"], descriptors)
                    return
                except BlockingIOError:
                    await self._outlet.writable()
                except ConnectionError:
                    break
        raise HelperLost


def _started(command: tuple[str, ...]) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """A new helper and our end of its socket. Its environment holds no secret: tools can read it.

    It stays in our session, as the Orphans want it, but no signal for our process group reaches it.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    number = theirs.fileno()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", *command, str(number)],
            pass_fds=(number,),
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    return process, ours


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe: each end is closed with its owner."""
    reading, writing = os.pipe()
    return _owned(reader, reading), _owned(writer, writing)


def _owned(owner: contextlib.ExitStack, descriptor: int) -> int:
    owner.callback(os.close, descriptor)
    return descriptor


def _written(program: Program) -> int:
    """An open file that holds the JSON of `program`: an argv may be larger than a datagram."""
    content = json.dumps({"argv": program.argv, "cwd": program.cwd, "env": program.env}).encode("ascii")
    descriptor = os.memfd_create("abey-program")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
