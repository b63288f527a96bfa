"""One program with something on its stdin, and its stderr apart from its output."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO

from abey.runtime.tools.descriptors import Inlet
from abey.runtime.tools.processes import Program, Running, Streams, Talker
from abey.runtime.tools.programs import Start, collecting

_LAST_BYTES = 4096


class LastWords:
    """A Sink that keeps the end."""

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> None:
        self._data = (self._data + data)[-_LAST_BYTES:]

    def flows_from(self, inlet: Inlet | None) -> None:
        pass

    def text(self) -> str:
        """Harmless for who reads UTF-8; the beginning of a character that was cut is left out."""
        data = self._data
        while data and len(self._data) == _LAST_BYTES and data[0] & 0xC0 == 0x80:
            data = data[1:]
        return data.decode("utf-8", "replace")


class Collected:
    """A Sink that keeps the beginning; `is_cut` says that there was more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.data = bytearray()
        self.is_cut = False

    def add(self, data: bytes) -> None:
        room = self._most - len(self.data)
        self.data += data[:room]
        self.is_cut = self.is_cut or len(data) > room

    def flows_from(self, inlet: Inlet | None) -> None:
        pass


@contextmanager
def spoken_to(talker: Talker, program: Program, stdin: bytes, errors: LastWords) -> Iterator[Start]:
    """How `program` is started with `stdin`; what it writes to stderr is in `errors` when this is left."""
    reading, writing = os.pipe()
    try:
        with collecting(reading, errors), _file_of(stdin) as file:
            yield partial(_start, talker, program, file.fileno(), writing)
    finally:
        os.close(writing)


async def _start(talker: Talker, program: Program, stdin: int, stderr: int, out: int) -> Running:
    return await talker.converse(program, Streams(stdin, out, stderr))


def _file_of(data: bytes) -> IO[bytes]:
    """An open file that holds `data`: unlike a pipe it takes all of it at once."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("abey-stdin"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115  # whoever asked for it closes it
    file.write(data)
    file.flush()
    file.seek(0)
    return file
