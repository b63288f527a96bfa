"""A stream that is written to: a reader that went away is silence, and no character fails to be written."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from abey_cli.failures import refused_input


class Sink:
    """Raises Failure (exit 1) where what is written cannot be kept, on a full disk for instance."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        _never_fail_to_encode(stream)

    def write(self, text: str) -> None:
        with self._reader_may_be_gone():
            self._stream.write(text)
            self._stream.flush()

    def write_bytes(self, data: bytes) -> None:
        with self._reader_may_be_gone():
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()

    def size(self) -> tuple[int, int] | None:
        """Columns and lines, where it is a terminal that says them."""
        with suppress(OSError, ValueError):  # no terminal, or a stream without a descriptor
            columns, lines = os.get_terminal_size(self._stream.fileno())
            return (columns, lines) if columns and lines else None
        return None

    def is_read_after(self, seconds: float) -> bool:
        """Waits so long; whether somebody still reads it then. For what would else go on without an end."""
        with suppress(OSError, ValueError):  # a stream without a descriptor is read by this program
            descriptor = self._stream.fileno()
            watched = select.poll()
            watched.register(descriptor, 0)
            went = watched.poll(seconds * 1000)
            return not went and not os.path.samestat(os.fstat(descriptor), os.stat(os.devnull))
        time.sleep(seconds)
        return True

    @contextmanager
    def _reader_may_be_gone(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._point_nowhere()
        except OSError as error:
            self._point_nowhere()
            raise refused_input(f"the output cannot be written: {error.strerror}") from error

    def _point_nowhere(self) -> None:
        """So that neither the next line nor the flush at the end of the program fails again."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def _never_fail_to_encode(stream: Any) -> None:
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
