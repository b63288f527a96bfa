"""Deleted sessions: `<state>/trash/<id>.<n>.<when>`, moved there whole by one rename (journal.md)."""

import re
from dataclasses import dataclass
from pathlib import Path

from abey.protocol.base import Timestamp
from abey.runtime.store.io import FileIO

_NAME = re.compile(r"([0-9a-z][0-9a-z_-]{0,63})\.(\d{1,9})\.(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d\.\d{3}Z)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Trashed:
    """A deleted session. `number` rises with every deletion of this id: clocks may jump."""

    session_id: str
    number: int
    deleted_at: Timestamp
    path: Path


def deleted_at(path: Path) -> Timestamp | None:
    """When what lies in the trash at `path` was deleted; None for what no deletion put there."""
    found = _trashed(path)
    return found.deleted_at if found is not None else None


def trashed(io: FileIO, trash: Path) -> tuple[Trashed, ...]:
    """Every deleted session, by id, and the deletions of one id in their order. Raises OSError."""
    try:
        names = io.names(trash)
    except FileNotFoundError:
        return ()
    found = [one for name in names if (one := _trashed(trash / name)) is not None]
    return tuple(sorted(found, key=lambda one: (one.session_id, one.number)))


def throw_away(io: FileIO, directory: Path, trash: Path, now: Timestamp) -> Trashed:
    """Moves a session to the trash, durably. Raises OSError: then it is either here or there, and whole."""
    io.ensure_directory(trash)
    number = max((one.number for one in trashed(io, trash) if one.session_id == directory.name), default=0) + 1
    path = trash / f"{directory.name}.{number}.{now.replace(':', '')}"
    io.rename(directory, path)
    io.sync_directory(trash)
    io.sync_directory(directory.parent)
    return Trashed(directory.name, number, now, path)


def take_back(io: FileIO, found: Trashed, sessions: Path) -> None:
    """Moves it back among the sessions, where nothing has its id. Raises OSError: it is either here or there."""
    io.rename(found.path, sessions / found.session_id)
    io.sync_directory(sessions)
    io.sync_directory(found.path.parent)


def _trashed(path: Path) -> Trashed | None:
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    session_id, number, day, hours, minutes, seconds = match.groups()
    return Trashed(session_id, int(number), f"{day}{hours}:{minutes}:{seconds}", path)
