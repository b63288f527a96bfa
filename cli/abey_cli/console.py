"""The three streams: results to stdout, words for people to stderr, questions to a terminal."""

import json
import os
import select
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from abey.shared.escaping import escape, escape_line
from abey_cli.diffs import painted
from abey_cli.failures import refused_input

ID_SHOWN = 14
"""The time and 20 random bits of a ULID: unique, and short enough for a line."""
TOKEN_SHOWN = 12


class Console:
    """A reader that went away is silence, not an error. `interactive`: there is a person who may be asked."""

    def __init__(self, stdin: TextIO | None, stdout: TextIO, stderr: TextIO, env: Mapping[str, str]) -> None:
        self.stdin = stdin
        self._stdout = stdout
        self._stderr = stderr
        self.json = False
        self.quiet = False
        self.terminal = stdout.isatty()
        self._live = stderr.isatty()
        self._colours = not env.get("NO_COLOR")
        self.interactive = self._live and stdin is not None and stdin.isatty() and not env.get("CI")
        for stream in (stdout, stderr):
            _never_fail_to_encode(stream)

    def out(self, line: str) -> None:
        """A line of the result, escaped by the caller where it holds what others wrote."""
        _write(self._stdout, f"{line}\n")

    def text(self, text: str) -> None:
        """Text of a model or a tool: exactly as it is into a pipe, harmless on a terminal."""
        self.out(escape(text) if self.terminal else text)

    def document(self, pieces: Iterable[str]) -> None:
        """The pieces of a file: in UTF-8 whatever the locale into a pipe, harmless on a terminal."""
        for piece in pieces:
            if self.terminal:
                _write(self._stdout, escape(piece))
            else:
                _write_bytes(self._stdout, piece.encode("utf-8"))

    def value(self, value: Any) -> None:
        """One JSON value; in ASCII, so that nothing in it can act on a terminal."""
        self.out(json.dumps(value))

    def err(self, text: str) -> None:
        """Something a person should read, however quiet we are."""
        _write(self._stderr, f"{escape(text)}\n")

    def patch(self, lines: list[str]) -> None:
        """The escaped lines of a patch that is the result."""
        shown = painted(lines) if self.terminal and self._colours else lines
        _write(self._stdout, "".join(f"{line}\n" for line in shown))

    def err_patch(self, lines: list[str], indent: str) -> None:
        """The escaped lines of a patch that a person should read."""
        shown = painted(lines) if self._live and self._colours else lines
        _write(self._stderr, "".join(f"{indent}{line}\n" for line in shown))

    def note(self, text: str) -> None:
        """Something that `-q` leaves out."""
        if not self.quiet:
            self.err(text)

    def progress(self, words: str) -> None:
        """A passing line on a terminal; empty words take it away again."""
        if self._live and not self.quiet:
            _write(self._stderr, f"\r\x1b[K{words}")

    def ask(self, question: str) -> str | None:
        """What the person typed, None at the end of input. Only where `interactive`."""
        if self.stdin is None:
            return None
        _write(self._stderr, f"{escape_line(question)} ")
        line = self.stdin.readline()
        return line.strip() if line else None

    def confirm(self, question: str) -> bool:
        """Whether the person wrote the whole word yes; asks again where the answer is neither that nor a no."""
        while True:
            answer = self.ask(f"{question} [yes/no]")
            if answer is None or answer.lower() in ("", "n", "no"):
                return False
            if answer.lower() == "yes":
                return True
            self.err(f"{answer!r} is neither; write yes, the whole word, or no")

    def id(self, session_id: str) -> str:
        return self._shortened(session_id, ID_SHOWN)

    def token(self, token: str) -> str:
        return self._shortened(token, TOKEN_SHOWN)

    def is_read_after(self, seconds: float) -> bool:
        """Waits so long; whether somebody still reads stdout then. For what would else go on without an end."""
        with suppress(OSError, ValueError):  # a stream without a descriptor is read by this program
            stdout = self._stdout.fileno()
            watched = select.poll()
            watched.register(stdout, 0)
            went = watched.poll(seconds * 1000)
            return not went and not os.path.samestat(os.fstat(stdout), os.stat(os.devnull))
        time.sleep(seconds)
        return True

    def _shortened(self, name: str, shown: int) -> str:
        return f"{name[:shown]}…" if self.terminal and len(name) > shown + 1 else escape_line(name)


def _write(stream: TextIO, text: str) -> None:
    with _reader_may_be_gone(stream):
        stream.write(text)
        stream.flush()


def _write_bytes(stream: TextIO, data: bytes) -> None:
    with _reader_may_be_gone(stream):
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()


@contextmanager
def _reader_may_be_gone(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _point_nowhere(stream)
    except OSError as error:
        _point_nowhere(stream)
        raise refused_input(f"the output cannot be written: {error.strerror}") from error


def _point_nowhere(stream: TextIO) -> None:
    """So that neither the next line nor the flush at the end of the program fails again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _never_fail_to_encode(stream: Any) -> None:
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
