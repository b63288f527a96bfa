"""The three streams: results to stdout, words for people to stderr, questions to a terminal."""

import io
import json
import os
import select
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

from abey.shared.escaping import escape, escape_line
from abey_cli.colours import BOLD, coloured, painted_call, painted_labels, painted_patch
from abey_cli.drawing import Drawn, Region
from abey_cli.sinks import Sink

ID_SHOWN = 14
"""The time and 20 random bits of a ULID: unique, and short enough for a line."""
TOKEN_SHOWN = 12
SIZE = (80, 24)
"""Columns and lines where no terminal says them."""


class Console:
    """`terminal`: stdout is one. `live`: a person looks at stderr; `moving`: and lines may come and go there;
    `interactive`: and the person may be asked. `colours`: a terminal may have them."""

    def __init__(self, stdin: TextIO | None, stdout: TextIO, stderr: TextIO, env: Mapping[str, str]) -> None:
        self.stdin = stdin
        if isinstance(stdin, io.TextIOWrapper):
            stdin.reconfigure(errors="replace")  # a key that is no character is no reason to end
        self._was_written_ahead = _has_line(stdin)
        self._stdout = Sink(stdout)
        self._stderr = Sink(stderr)
        self._region = Region()
        self.json = False
        self.quiet = False
        self.terminal = stdout.isatty()
        self.colours = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self.live = stderr.isatty() and not env.get("CI")
        self.moving = self.live and env.get("TERM") != "dumb"
        self.interactive = self.live and stdin is not None and stdin.isatty()
        self._coloured_err = stderr.isatty() and self.colours

    @property
    def coloured(self) -> bool:
        """Whether what is said on stdout is in colours."""
        return self.terminal and self.colours

    def out(self, line: str) -> None:
        """A line of the result, escaped by the caller where it holds what others wrote."""
        self._say(self._stdout, f"{line}\n")

    def text(self, text: str) -> None:
        """Text of a model or a tool: exactly as it is into a pipe, harmless on a terminal."""
        self.out(escape(text) if self.terminal else text)

    def document(self, pieces: Iterable[str]) -> None:
        """The pieces of a file: in UTF-8 whatever the locale into a pipe, harmless on a terminal."""
        for piece in pieces:
            self.data(piece.encode("utf-8"))

    def data(self, data: bytes) -> None:
        """Bytes that somebody wrote: exactly as they are into a pipe, harmless text on a terminal."""
        if self.terminal:
            self._say(self._stdout, escape(data.decode("utf-8", "backslashreplace")))
        else:
            self._stdout.write_bytes(data)

    def value(self, value: Any) -> None:
        """One JSON value; in ASCII, so that nothing in it can act on a terminal."""
        self.out(json.dumps(value))

    def err(self, text: str) -> None:
        """Something a person should read, however quiet we are."""
        self._say(self._stderr, f"{escape(text)}\n")

    def patch(self, lines: list[str]) -> None:
        """The escaped lines of a patch that is the result."""
        self._say(self._stdout, _lines(painted_patch(lines) if self.coloured else lines))

    def labelled(self, lines: Sequence[str]) -> None:
        """Escaped lines of the result, of the form `label: value`, and what belongs to them indented."""
        self._say(self._stdout, _lines(painted_labels(lines) if self.coloured else lines))

    def headed(self, lines: Sequence[str]) -> None:
        """Escaped lines of the result, of which the first is what the others are about."""
        head = coloured(lines[0], BOLD) if self.coloured else lines[0]
        self._say(self._stdout, _lines([head, *lines[1:]]))

    def err_patch(self, lines: list[str], indent: str) -> None:
        """The escaped lines of a patch that a person should read."""
        shown = painted_patch(lines) if self._coloured_err else lines
        self._say(self._stderr, _lines(f"{indent}{line}" for line in shown))

    def err_labelled(self, lines: Sequence[str]) -> None:
        """As `labelled`, for a person to read."""
        self._say(self._stderr, _lines(painted_labels(lines) if self._coloured_err else lines))

    def err_call(self, lines: Sequence[str], state: str) -> None:
        """The escaped lines about a call that is in this state, for a person to read."""
        self._say(self._stderr, _lines(painted_call(lines, state) if self._coloured_err else lines))

    def note(self, text: str) -> None:
        """Something that `-q` leaves out."""
        if not self.quiet:
            self.err(text)

    def draw(self, lines: Sequence[Drawn]) -> None:
        """In the place of what was drawn before, at the bottom of a terminal; whatever is said next takes it away."""
        if self.moving and (text := self._region.redrawn(lines, self.size()[0])):
            self._stderr.write(text)

    def progress(self, words: str) -> None:
        """A passing line on a terminal; empty words take it away again."""
        shown = words[: self.size()[0] - 1]
        if not self.quiet:
            self.draw([Drawn(shown, len(shown))] if shown else [])

    def ask(self, question: str) -> str | None:
        """What the person typed, None at the end of input. Only where `interactive`."""
        if self.stdin is None:
            return None
        self._say(self._stderr, f"{escape_line(question)} ")
        line = self.stdin.readline()
        return line.strip() if line else None

    def forget_typed(self) -> None:
        """What was typed until now is no answer to what is asked from now on, unless it stood there before this program
        began: whoever writes ahead, as a script does, knows what will be asked."""
        if self._was_written_ahead:
            return
        with suppress(OSError, ValueError):  # no terminal, or a stream without a descriptor
            if self.stdin is not None and os.isatty(self.stdin.fileno()):
                import termios  # only who is asked has need of it

                termios.tcflush(self.stdin, termios.TCIFLUSH)

    def confirm(self, question: str) -> bool:
        """Whether the person wrote the whole word yes; asks again where the answer is neither that nor a no."""
        while True:
            answer = self.ask(f"{question} [yes/no]")
            if answer is None or answer.lower() in ("", "n", "no"):
                return False
            if answer.lower() == "yes":
                return True
            self.err(f"{answer!r} is neither; write yes, the whole word, or no")

    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal."""
        return self._stderr.size() or self._stdout.size() or SIZE

    def id(self, session_id: str) -> str:
        return self._shortened(session_id, ID_SHOWN)

    def token(self, token: str) -> str:
        return self._shortened(token, TOKEN_SHOWN)

    def is_read_after(self, seconds: float) -> bool:
        """Waits so long; whether somebody still reads stdout then. For what would else go on without an end."""
        return self._stdout.is_read_after(seconds)

    def _say(self, sink: Sink, text: str) -> None:
        if wiped := self._region.wiped(self.size()[0]):
            self._stderr.write(wiped)
        sink.write(text)

    def _shortened(self, name: str, shown: int) -> str:
        return f"{name[:shown]}…" if self.terminal and len(name) > shown + 1 else escape_line(name)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _has_line(stdin: TextIO | None) -> bool:
    """Whether a whole line waits to be read there."""
    with suppress(OSError, ValueError):  # no terminal, or a stream without a descriptor
        return stdin is not None and os.isatty(stdin.fileno()) and bool(select.select([stdin], [], [], 0)[0])
    return False
