"""Serving a pipe: stdin and stdout of a standalone daemon are one more connection.

Two threads carry the bytes to a socket, so that a terminal, a file and a pipe are all served by the same code, and one
that nobody reads blocks a thread instead of the daemon.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable

from abey.daemon.pipes import Stdio, chunks, received, write_all
from abey.protocol.handshake import Limits
from abey.rpc.connection import Connection
from abey.rpc.dispatch import Surface

FLUSH_SECONDS = 1.0


async def serve_stdio(surface: Surface, stdio: Stdio, hears: Callable[[bytes], None], *, limits: Limits) -> int:
    """Serves the two descriptors until their client leaves; the LSP exit code. `hears` gets what the client sends."""
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


def _carry_in(incoming: int, hears: Callable[[bytes], None], theirs: socket.socket) -> None:
    """Ends with stdin, or with a connection that is over."""
    with contextlib.suppress(OSError):
        for data in chunks(incoming):
            hears(data)
            theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)


def _carry_out(theirs: socket.socket, outgoing: int) -> None:
    """A client that reads no more has left."""
    try:
        for data in received(theirs):
            write_all(outgoing, data)
    except OSError:
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
