"""A real terminal of a given size with one command of `abey` in it: what stands on its screen, and what is typed."""

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from support.e2e import Place, until

ENDED = "ended with"


class Terminal:
    """A pane of a tmux of its own."""

    def __init__(self, place: Place, folder: str, columns: int, lines: int) -> None:
        self._place = place
        self._size = ("-x", str(columns), "-y", str(lines))
        self._socket = f"{folder}/tmux"
        self._env = {**place.env, "TERM": "screen-256color"}

    def start(self, *words: str, **env: str) -> None:
        """Starts the command; how it ended is told below what it wrote."""
        told = shlex.join(self._place.program(*words))
        self._env |= env
        line = f"{told}; echo {ENDED} $?; exec cat"
        self._tmux("-f", "/dev/null", "new-session", "-d", *self._size, line)

    def screen(self) -> list[str]:
        """All lines with what has scrolled away, but the empty ones at the end."""
        return self._tmux("capture-pane", "-p", "-S", "-").rstrip("\n").split("\n")

    def shows(self, text: str) -> list[str]:
        """The lines, once the text is among them."""
        until(lambda: text in "\n".join(self.screen()), f"for {text!r}, instead of {self.screen()}")
        return self.screen()

    def type(self, *keys: str) -> None:
        """Keys by their names in tmux, such as `C-c`, or texts."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def ended(self) -> list[str]:
        """The lines, once the command is over."""
        return self.shows(ENDED)

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        line = ["tmux", "-S", self._socket, *words]
        done = subprocess.run(line, cwd=self._place.work, env=self._env, capture_output=True, text=True, check=True)
        return done.stdout


@contextmanager
def terminal(place: Place, columns: int = 80, lines: int = 24) -> Iterator[Terminal]:
    with TemporaryDirectory(prefix="abey-tmux-") as folder:  # the path of a socket is short
        one = Terminal(place, folder, columns, lines)
        try:
            yield one
        finally:
            one.close()
