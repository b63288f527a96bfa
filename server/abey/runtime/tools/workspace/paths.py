"""From a path that a model names to an open folder and a name in it: never one outside the workspace.

Laws
- A path is walked part by part, each opened without following a link; a link is read, and its target walked likewise.
  So whatever is swapped meanwhile, nothing outside the session's folder is ever opened.
- What the daemon keeps for itself (its state and its configuration) is outside, wherever it lies.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from abey.shared.escaping import cut, escape_line

LINKS = 40
"""That one path may lead through, as the kernel has it."""

FOLDERS = 128
"""That one path may lead through: each of them is open meanwhile."""

PROTECTED = frozenset({".git", ".abey"})
"""Folders in which nothing is written: what stands there is run, or decides what may run (security.md, Paths)."""

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Refused(Exception):
    """Why a call does nothing, in a line for the model."""


def _none_is(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Own:
    """What of the machine is the daemon's: folders that are in no workspace, and agent files by their real paths, which
    no tool writes."""

    folders: tuple[Path, ...] = ()
    is_agent_file: Callable[[str], bool] = _none_is

    def identities(self) -> frozenset[tuple[int, int]]:
        return frozenset(one for one in map(_identity, self.folders) if one is not None)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path leads: `name` in the open `folder`, or the folder itself where `name` is empty. `parts` lead there
    from the workspace without a link; the folders `missing` do not exist yet. `linked`: the path led through a link."""

    folder: int
    name: str
    parts: tuple[str, ...]
    root: str
    status: os.stat_result | None
    missing: tuple[str, ...] = ()
    linked: bool = False

    @property
    def path(self) -> str:
        """Relative to the workspace."""
        return "/".join(self.parts) or "."

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)


@contextmanager
def spot_of(cwd: str, path: str, own: Own) -> Iterator[Spot]:
    """Raises Refused for a path that leads out of `cwd`, or where the system says no."""
    with ExitStack() as opened:
        try:
            spot = _Walk(cwd, own, opened).to(path)
        except OSError as error:
            raise Refused(f"{shown(path)}: {why(error)}") from None
        yield spot


def refuse_protected(spot: Spot, own: Own) -> None:
    """Raises Refused where nothing may be written."""
    inside = next((part for part in spot.parts if part.casefold() in PROTECTED), None)
    if inside is not None:
        raise Refused(f"{shown(spot.path)}: nothing is written in {shown(inside)}; ask the user to do it")
    if own.is_agent_file(os.path.join(spot.root, *spot.parts)):
        raise Refused(f"{shown(spot.path)} is an agent file, and no tool writes one; ask the user to do it")


def identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def shown(path: str) -> str:
    return cut(escape_line(path), 300)


def why(error: OSError) -> str:
    return error.strerror or type(error).__name__


class _Walk:
    """The open folders from the workspace to where it is now, and their names."""

    def __init__(self, cwd: str, own: Own, opened: ExitStack) -> None:
        self._cwd = cwd
        self._own = own.identities()
        self._opened = opened
        self._real = os.path.realpath(cwd)
        self._count = 0
        self._folders = [self._open(self._real, None)]
        self._names: list[str] = []
        self._links = 0

    def to(self, path: str) -> Spot:
        steps = deque(self._steps(path, path))
        if len(steps) > FOLDERS:
            raise Refused(f"{shown(path)} leads through too many folders")
        while steps:
            step = steps.popleft()
            if step == "..":
                self._up(path)
                continue
            status = _status(step, self._folders[-1])
            if status is None:
                return self._missing(path, step, steps)
            if stat.S_ISLNK(status.st_mode):
                steps.extendleft(reversed(self._target(path, step)))
            elif stat.S_ISDIR(status.st_mode):
                self._down(step)
            elif steps:
                raise Refused(f"{shown(path)}: {shown(step)} is no folder")
            else:
                return self._spot(step, status)
        return self._spot("", os.fstat(self._folders[-1]))

    def _steps(self, path: str, whole: str) -> list[str]:
        """The parts of a path, from the workspace if it is absolute. Raises Refused where that is not above it."""
        if "\0" in path or not _is_text(path):
            raise Refused(f"{shown(path)} is no path")
        steps = _parts(path)
        if not path.startswith("/"):
            return steps
        for root in (_parts(self._cwd), _parts(self._real)):
            if steps[: len(root)] == root:
                self._to_root()
                return steps[len(root) :]
        raise _outside(whole)

    def _target(self, path: str, step: str) -> list[str]:
        self._links += 1
        if self._links > LINKS:
            raise Refused(f"{shown(path)}: too many links")
        return self._steps(os.readlink(step, dir_fd=self._folders[-1]), path)

    def _up(self, path: str) -> None:
        if not self._names:
            raise _outside(path)
        self._names.pop()
        self._folders.pop()

    def _to_root(self) -> None:
        del self._folders[1:], self._names[:]

    def _down(self, step: str) -> None:
        self._folders.append(self._open(step, self._folders[-1]))
        self._names.append(step)

    def _open(self, name: str, within: int | None) -> int:
        self._count += 1
        if self._count > FOLDERS:
            raise Refused(f"{shown(name)} leads through too many folders")
        folder = os.open(name, _FOLDER, dir_fd=within)
        self._opened.callback(os.close, folder)
        if identity(os.fstat(folder)) in self._own:
            raise Refused(f"{shown(name)} is a folder of the daemon: no tool reads or writes there")
        return folder

    def _missing(self, path: str, step: str, steps: Sequence[str]) -> Spot:
        rest = [step, *steps]
        if ".." in rest:
            raise Refused(f"{shown(path)}: there is no folder {shown(step)}")
        parts = (*self._names, *rest)
        return Spot(self._folders[-1], rest[-1], parts, self._real, None, tuple(rest[:-1]), self._links > 0)

    def _spot(self, name: str, status: os.stat_result) -> Spot:
        parts = (*self._names, name) if name else tuple(self._names)
        return Spot(self._folders[-1], name, parts, self._real, status, linked=self._links > 0)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _is_text(path: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in path)


def _outside(path: str) -> Refused:
    return Refused(f"{shown(path)} is outside the workspace; only paths under the session's folder can be used")


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        return identity(path.stat())
    except OSError:
        return None
