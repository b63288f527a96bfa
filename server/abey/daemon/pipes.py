"""Stdin and stdout as a channel for messages."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Stdio:
    """The two descriptors of a channel."""

    incoming: int
    outgoing: int


def take_stdio() -> Stdio:
    """Stdin and stdout, for messages alone: from now on 0 is the null device and 1 is stderr, for whatever prints here
    or is started from here."""
    taken = Stdio(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return taken


def chunks(descriptor: int) -> Iterator[bytes]:
    """What comes in, until its end."""
    while data := os.read(descriptor, CHUNK_BYTES):
        yield data


def received(connection: socket.socket) -> Iterator[bytes]:
    """What comes in, until its end; a connection that breaks has ended."""
    try:
        while data := connection.recv(CHUNK_BYTES):
            yield data
    except ConnectionError:
        return


def write_all(descriptor: int, data: bytes) -> None:
    """Blocks until all is written. Raises BrokenPipeError when nobody reads any more."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
