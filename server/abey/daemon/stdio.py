"""Serving a pipe: stdin and stdout of a standalone daemon are one more connection.

Two pipes are served by the event loop. Whatever else stdin and stdout may be (a terminal, a file, a socket that is
both) is carried by two threads to a socket: what is not ours alone, so that others would find that it does not block,
or always blocks, blocks a thread instead of the daemon.
"""

import asyncio
import contextlib
import os
import socket
import stat
import threading
from collections.abc import Callable

from abey.daemon.pipes import Stdio, chunks, received, write_all
from abey.protocol.handshake import Limits
from abey.rpc.connection import Connection
from abey.rpc.dispatch import Surface

FLUSH_SECONDS = 1.0

Hears = Callable[[bytes], None]


async def serve_stdio(surface: Surface, stdio: Stdio, hears: Hears, *, limits: Limits) -> int:
    """Serves the two descriptors until their client leaves; the LSP exit code. `hears` gets what the client sends."""
    if _are_pipes(stdio):
        return await _serve_pipes(Connection(surface, limits=limits), stdio, hears)
    ours, theirs = socket.socketpair()
    with theirs:
        threading.Thread(target=_carry_in, args=(stdio.incoming, hears, theirs), daemon=True).start()
        writing = threading.Thread(target=_carry_out, args=(theirs, stdio.outgoing), daemon=True)
        writing.start()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: Connection(surface, limits=limits), sock=ours)
        code = await connection.served()
        await asyncio.to_thread(writing.join, FLUSH_SECONDS)
        return code


def _are_pipes(stdio: Stdio) -> bool:
    """Two, and none of them stderr, too: what is written there must not find that it would block."""
    incoming, outgoing, stderr = (os.fstat(each) for each in (stdio.incoming, stdio.outgoing, 2))
    return (
        stat.S_ISFIFO(incoming.st_mode)
        and stat.S_ISFIFO(outgoing.st_mode)
        and not os.path.samestat(incoming, outgoing)
        and not os.path.samestat(outgoing, stderr)
    )


async def _serve_pipes(connection: Connection, stdio: Stdio, hears: Hears) -> int:
    loop, pipes = asyncio.get_running_loop(), _Pipes(connection, hears)
    await loop.connect_write_pipe(lambda: _Outgoing(pipes), os.fdopen(stdio.outgoing, "wb", 0))
    await loop.connect_read_pipe(lambda: _Incoming(pipes), os.fdopen(stdio.incoming, "rb", 0))
    return await connection.served()


class _Pipes(asyncio.Transport):
    """Both as one connection, which is lost with the outgoing one: who has said all may still listen."""

    writing: asyncio.WriteTransport

    def __init__(self, connection: Connection, hears: Hears) -> None:
        super().__init__()
        self.connection = connection
        self.hears = hears
        self.reading: asyncio.ReadTransport | None = None

    def pause_reading(self) -> None:
        if self.reading is not None:
            self.reading.pause_reading()

    def resume_reading(self) -> None:
        if self.reading is not None:
            self.reading.resume_reading()

    def is_closing(self) -> bool:
        return self.writing.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writing.write(data)

    def get_write_buffer_size(self) -> int:
        return self.writing.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        """A pipe can only be closed, and then nobody is heard out who is in mid-sentence."""
        return False

    def close(self) -> None:
        self.hear_no_more()
        self.writing.close()

    def abort(self) -> None:
        self.hear_no_more()
        self.writing.abort()

    def hear_no_more(self) -> None:
        if self.reading is not None:
            self.reading.close()


class _Outgoing(asyncio.BaseProtocol):
    def __init__(self, pipes: _Pipes) -> None:
        self._pipes = pipes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._pipes.writing = transport
        self._pipes.connection.connection_made(self._pipes)

    def connection_lost(self, error: Exception | None) -> None:
        self._pipes.hear_no_more()
        self._pipes.connection.connection_lost(error)


class _Incoming(asyncio.Protocol):
    def __init__(self, pipes: _Pipes) -> None:
        self._pipes = pipes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._pipes.reading = transport

    def data_received(self, data: bytes) -> None:
        self._pipes.hears(data)
        self._pipes.connection.data_received(data)

    def eof_received(self) -> None:
        self._pipes.connection.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self._pipes.abort()


def _carry_in(incoming: int, hears: Hears, theirs: socket.socket) -> None:
    """Ends with stdin, however that ends, or with a connection that is over."""
    with contextlib.suppress(OSError):
        for data in chunks(incoming):
            hears(data)
            theirs.sendall(data)
    with contextlib.suppress(OSError):
        theirs.shutdown(socket.SHUT_WR)


def _carry_out(theirs: socket.socket, outgoing: int) -> None:
    """A client that reads no more has left."""
    try:
        for data in received(theirs):
            write_all(outgoing, data)
    except OSError:
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
