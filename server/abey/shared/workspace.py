"""Which workspace a folder belongs to, by names alone: no file is opened (agent-file.md, Trust)."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from abey.shared.escaping import escape_line
from abey.shared.places import EVERYBODYS

MARK = ".abey"
"""The folder that makes the one it is in a workspace."""


_TOO_WIDE = frozenset(str(wide) for one in EVERYBODYS for wide in (one, *one.parents))


def is_too_wide(real: str | Path, home: Path | None) -> bool:
    """Whether it is the home folder, everybody's, or one around these: no workspace, and never trusted as one."""
    return str(real) in _TOO_WIDE or (home is not None and f"{home}/".startswith(f"{real}/"))


def workspace_of(folder: str | Path, is_end: Callable[[str], bool]) -> Path | None:
    """The nearest folder, this one or one around it, that has `.abey`: its real path; None where `is_end` is reached
    first."""
    real = os.path.realpath(folder)
    while not is_end(real):
        if os.path.isdir(f"{real}/{MARK}"):
            return Path(real)
        real, below = os.path.dirname(real), real
        if real == below:
            break
    return None


def untrusted_words(workspace: str | Path) -> str:
    """What is to be said of a workspace that is not trusted, and the way out."""
    shown = escape_line(str(workspace))
    way_out = f"`abey trust {shlex.quote(shown)}`" if shown == str(workspace) else "`abey trust` in it"
    return f"{shown} is not trusted, so that nothing in its {MARK} is read; {way_out} trusts it"
