"""Which workspace a folder belongs to, and whether what is in it counts (agent-file.md, Trust)."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from abey.shared.workspace import MARK, workspace_of

REMEMBERED = 256

Lent = Sequence[Path]
"""Folders that the asking client trusts for as long as it is connected, as it spells them."""


Folders = Callable[[], Iterable[Path]]


class Trusted(Protocol):
    """The user's own choice of folders."""

    def covers(self, folder: Path) -> bool: ...

    def covers_any(self) -> bool: ...

    def is_too_wide(self, real: str | Path) -> bool: ...


class Workspaces:
    """`opened` are the folders of the connected clients, `lent` those of them that their clients trust. Looks at names
    alone, and opens no file."""

    def __init__(self, trusted: Trusted, lent: Folders = tuple, opened: Folders = tuple) -> None:
        self._trusted = trusted
        self._lent = lent
        self._opened = opened
        self._used: dict[Path, None] = {}

    def of(self, folder: str | Path) -> Path | None:
        """The nearest folder, this one or one around it, that has `.abey`: its real path, None where there is none."""
        return workspace_of(folder, self._trusted.is_too_wide)

    def around(self, path: Path) -> Path | None:
        """The workspace whose `.abey` a file is in, however the path leads there; None where it is in none."""
        for real in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):
            for one in real.parents:
                if one.name == MARK:
                    found = Path(os.path.realpath(one.parent))
                    return None if self._trusted.is_too_wide(found) else found
        return None

    def trusts(self, workspace: Path, lent: Lent = ()) -> bool:
        """Whether a workspace, by its real path, is trusted by the user or by the client that asks."""
        return self._trusted.covers(workspace) or self._lends(lent, workspace)

    def trusts_for_sessions(self, workspace: str) -> bool:
        """The same for a session that was started in it: any client that is connected may trust it. A workspace that
        is no longer at its real path is another one."""
        path = Path(workspace)
        return os.path.realpath(path) == workspace and self.trusts(path, tuple(self._lent()))

    def of_session(self, cwd: str) -> Path | None:
        """The workspace that a session in `cwd` is in, if it is trusted for sessions. Where nothing is trusted at all,
        as with many users, none is looked for."""
        if not tuple(self._lent()) and not self._trusted.covers_any():
            return None
        workspace = self.of(cwd)
        return workspace if workspace is not None and self.trusts_for_sessions(str(workspace)) else None

    def _lends(self, lent: Lent, workspace: Path) -> bool:
        """An editor may have `/` open: what the user cannot trust, a client cannot either."""
        around = {workspace, *workspace.parents}
        real = (Path(os.path.realpath(folder)) for folder in lent)
        return any(one in around and not self._trusted.is_too_wide(one) for one in real)

    def use(self, workspace: Path) -> None:
        """It is in use: who looks after changes looks there, too."""
        self._used.pop(workspace, None)
        self._used[workspace] = None
        if len(self._used) > REMEMBERED:
            self._used.pop(next(iter(self._used)), None)

    def in_use(self) -> tuple[Path, ...]:
        """The trusted ones that were used, or that connected clients have open; the last used first."""
        lent = tuple(self._lent())
        found = dict.fromkeys(reversed(tuple(self._used)))
        opened = islice(dict.fromkeys(self._opened()), REMEMBERED)
        found.update(dict.fromkeys(one for folder in opened if (one := self.of(folder)) is not None))
        return tuple(one for one in found if self.trusts(one, lent))[:REMEMBERED]
