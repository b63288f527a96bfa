"""A real shell on a terminal of its own, at whose prompt a person types."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from support.e2e_peer import PATIENCE

COMMANDS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "--interactive"),
}
AGAIN_SECONDS = 3
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()=>A-Za-z])|[\r\x07\x08\x0f]")


class Shell:
    """`shell` is bash, zsh or fish, as it is without anybody's settings."""

    def __init__(self, shell: str, env: Mapping[str, str], cwd: Path) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self._terminal = ours
        self._said = ""
        self._process = subprocess.Popen(
            COMMANDS[shell],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**env, "TERM": "xterm", "PS1": "READY> ", "XDG_DATA_HOME": env["HOME"]},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Types, and forgets what was on the screen."""
        self._said = ""
        os.write(self._terminal, keys.encode())

    def until(self, words: str, again: str = "") -> str:
        """What came on the screen, once `words` are there; types `again` where nothing comes for a while."""
        end = time.monotonic() + PATIENCE
        while words not in (shown := _CONTROL.sub("", self._said)):
            assert time.monotonic() < end, f"{words!r} never came; there was {shown!r}"
            if select.select([self._terminal], [], [], AGAIN_SECONDS)[0]:
                self._said += os.read(self._terminal, 1 << 16).decode(errors="replace")
            elif again:
                os.write(self._terminal, again.encode())
        return shown


def words_for(line: str, env: Mapping[str, str], cwd: Path, shell: str = "bash") -> list[str]:
    """The words that a shell is told for this line, with the cursor at its end."""
    asking = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_SHELL": shell,
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    reader, writer = os.pipe()
    with os.fdopen(reader) as words:
        done = subprocess.run(
            ["bash", "-c", f"exec abey 8>&{writer}"],
            env={**env, **asking},
            cwd=cwd,
            pass_fds=(writer,),
            capture_output=True,
            check=False,
        )
        os.close(writer)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return [word for word in words.read().split("\013") if word]
