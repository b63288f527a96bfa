"""Which folders the user trusts, kept in `<state>/trust.json` (agent-file.md, Trust)."""

import json
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from abey.errors import InvalidArguments, PermissionDenied, RecordFailed
from abey.protocol.base import Int, Timestamp, Wire
from abey.protocol.trust import FolderState, TrustedFolder
from abey.runtime.agents import files
from abey.runtime.damaged import keep_damaged
from abey.runtime.store.io import FileIO
from abey.shared.escaping import escape_line
from abey.shared.workspace import is_too_wide

log = logging.getLogger(__name__)

VERSION = 1
MOST_BYTES = 4 << 20


class _Entry(Wire):
    """A folder by its real path; `inode` tells it from another one that is put in its place."""

    dir: str
    inode: Int
    at: Timestamp


class _File(Wire):
    version: Int
    folders: tuple[_Entry, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """The file as it was read; of one that is damaged `fault` is why, and nothing in it counts."""

    stamp: files.Stamp | None
    folders: Mapping[str, _Entry]
    fault: str | None = None


class Trust:
    """A trusted folder covers everything below it. A damaged file trusts nothing, and not a byte of it is lost.
    Threads may ask and choose at the same time."""

    def __init__(self, path: Path, io: FileIO, home: Path | None = None) -> None:
        self._path = path
        self._io = io
        self._home = None if home is None else Path(os.path.realpath(home))
        self._known = _Known(None, {})
        self._choosing = threading.Lock()

    @property
    def fault(self) -> str | None:
        """Why nothing is trusted although something was, in a line."""
        return self._now().fault

    @property
    def stamp(self) -> files.Stamp | None:
        return files.stamp(self._path)

    def covers(self, folder: Path) -> bool:
        """Whether a folder, given by its real path, is trusted or lies below one that is."""
        folders = self._now().folders
        return any(_state(folders[str(one)]) == "ok" for one in (folder, *folder.parents) if str(one) in folders)

    def covers_any(self) -> bool:
        """Whether there is a folder that it might cover."""
        return bool(self._now().folders)

    def items(self) -> tuple[TrustedFolder, ...]:
        """In the order of their names."""
        found = sorted(self._now().folders.values(), key=lambda entry: entry.dir)
        return tuple(TrustedFolder(dir=entry.dir, at=entry.at, state=_state(entry)) for entry in found)

    def add(self, folder: Path, now: Timestamp) -> None:
        """Durable when it returns. Raises InvalidArguments, PermissionDenied, RecordFailed."""
        real = Path(os.path.realpath(folder))
        try:
            if not real.is_dir():
                raise InvalidArguments(f"{escape_line(str(folder))} is not a folder", errors=["dir is not a folder"])
            str(real).encode()
            inode = real.stat().st_ino
        except (OSError, ValueError) as error:  # also a name that is not UTF-8
            message = f"{escape_line(str(folder))} cannot be looked at: {_words(error)}"
            raise InvalidArguments(message, errors=["dir is not a folder"]) from None
        if self.is_too_wide(real):
            message = f"{escape_line(str(real))} holds much else than one workspace; trust the workspace itself"
            raise PermissionDenied(message, dir=str(real))
        with self._choosing:
            self._write({**self._now().folders, str(real): _Entry(dir=str(real), inode=inode, at=now)})

    def remove(self, folder: Path) -> None:
        """One that is not listed is no error: it is not there afterwards. Raises RecordFailed."""
        spelled = (os.path.normpath(folder), os.path.realpath(folder))
        with self._choosing:
            known = self._now().folders
            left = {dir: entry for dir, entry in known.items() if dir not in spelled}
            if len(left) < len(known):
                self._write(left)

    def is_too_wide(self, real: str | Path) -> bool:
        """Whether it is the home folder, everybody's, or one around these: no workspace, and never trusted as one."""
        return is_too_wide(real, self._home)

    def _now(self) -> _Known:
        """The file as it is, read again if it changed."""
        stamp = files.stamp(self._path)
        if stamp != self._known.stamp:
            self._known = _Known(None, {}) if stamp is None else self._read(stamp)
            if self._known.fault:
                log.warning("nothing is trusted: %s", self._known.fault)
        return self._known

    def _read(self, stamp: files.Stamp) -> _Known:
        shown = escape_line(str(self._path))
        try:
            found = _File.model_validate_json(self._io.read(self._path, MOST_BYTES))
        except OSError as error:
            return _Known(stamp, {}, f"{shown} cannot be read: {_words(error)}")
        except ValidationError as error:
            return _Known(stamp, {}, f"{shown} is damaged: {escape_line(error.errors()[0]['msg'])}")
        if found.version != VERSION:
            return _Known(stamp, {}, f"{shown} is of another version of abey, {found.version}")
        return _Known(stamp, {entry.dir: entry for entry in found.folders})

    def _write(self, folders: Mapping[str, _Entry]) -> None:
        file = _File(version=VERSION, folders=tuple(folders.values()))
        try:
            if self.fault is not None:
                keep_damaged(self._io, self._path)
            self._io.ensure_directory(self._path.parent)
            self._io.replace_file(self._path, (json.dumps(file.wire(), indent=1) + "\n").encode())
        except OSError as error:
            message = f"{escape_line(str(self._path))} cannot be written: {_words(error)}"
            raise RecordFailed(message, errno=error.errno) from error


def _state(entry: _Entry) -> FolderState:
    try:
        found = os.lstat(entry.dir)
    except (OSError, ValueError):
        return "gone"
    return "ok" if found.st_ino == entry.inode else "replaced"


def _words(error: OSError | ValueError) -> str:
    return escape_line(getattr(error, "strerror", None) or str(error))
