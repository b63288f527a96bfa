"""What in a workspace that may be written may not be: what is run later, outside, and what decides what may run.

Laws
- A place is kept whether or not there is something yet.
- None is got around by moving a folder that leads there, or by changing a link.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from abey.shared.workspace import MARK

RUN_LATER = (MARK, ".git")
LINKS = 40
"""That a path may lead through, as the kernel has it."""


class NotConfined(Exception):
    """There can be no sandbox that keeps its laws; the message says why, in a line."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Real paths, none below another: of what is not there yet the first that is not. `held` are the folders between
    the workspace and these, outer ones first."""

    paths: tuple[str, ...]
    held: tuple[str, ...]


def keeping(workspace: str, others: Iterable[str]) -> Kept:
    """In the workspace, a real path: `others` may be anywhere. Raises NotConfined."""
    named = (*(os.path.join(workspace, name) for name in RUN_LATER), *others)
    places = {place for place in _all_places(named) if place != workspace and is_in(place, workspace)}
    for place in sorted(places):
        if os.path.islink(place):
            raise NotConfined(f"{place} is a link, which no sandbox can keep as it is")
    paths = outermost(_first_missing(place, workspace) for place in places)
    return Kept(paths, tuple(sorted({folder for path in paths for folder in _between(path, workspace)})))


def is_in(path: str, folder: str) -> bool:
    """Whether it is the folder or below it; both are real paths."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_below(path: str, folders: Iterable[str]) -> bool:
    return any(is_in(path, folder) for folder in folders)


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for folder in sorted(set(folders)):
        if not is_below(folder, found):
            found.append(folder)
    return tuple(found)


def _all_places(paths: Iterable[str]) -> Iterator[str]:
    """Thousands of files are in a few folders."""
    folders: dict[str, str] = {}
    for path in map(os.path.abspath, paths):
        folder, name = os.path.split(path)
        if folder not in folders:
            on_the_way = tuple(_places(folder))
            folders[folder] = on_the_way[-1]
            yield from on_the_way[:-1]
        there = os.path.join(folders[folder], name)
        yield from _places(there) if os.path.islink(there) else (there,)


def _places(path: str) -> Iterator[str]:
    """Where it leads, and each link on the way there."""
    links, place, left = 0, "/", path.split("/")[::-1]
    while left:
        name = left.pop()
        if name in ("", ".", ".."):
            place = os.path.dirname(place) if name == ".." else place
            continue
        there = os.path.join(place, name)
        if not os.path.islink(there):
            place = there
            continue
        yield there
        links += 1
        if links > LINKS:
            break  # it leads nowhere
        target = os.readlink(there)
        place = "/" if target.startswith("/") else place
        left += target.split("/")[::-1]
    yield place


def _between(path: str, workspace: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != workspace:
        yield path


def _first_missing(place: str, workspace: str) -> str:
    missing = (folder for folder in _between(place, workspace) if not os.path.lexists(folder))
    return min(missing, key=len, default=place)
