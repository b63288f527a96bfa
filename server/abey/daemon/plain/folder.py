"""`<state>/documents`: the files that plain editors open (protocol.md, Without a plugin).

Laws
- Links are never followed, neither the folder nor a file in it: what a name stands for is a regular file, or nothing.
- A file is replaced whole, by a rename. An editor that reads while it is written gets the old text or the new one, and
  a crash leaves one of them. (Editors look at the path, not at the file that they once opened.)
- What a user saved meanwhile is not lost: what replaces a text is made of that text, and looked at again. What cannot
  be read whole is not replaced.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from abey.daemon.plain.exchanging import exchange
from abey.errors import RecordFailed
from abey.shared.owner import NotOurs, private_folder

READ_BYTES = 16 << 20
TRIES = 5
SAVING_SECONDS = 0.02
DRAFT = ".new"
"""The end of the name of a file on its way (store/leftovers.py)."""

_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.EMLINK, errno.ENXIO)
"""What opening says of nothing, of a link, and of a socket."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _Stamp(NamedTuple):
    inode: int
    size: int
    mtime: int


Rename = Callable[[str, str, int], None]
"""(from, to, descriptor of the folder of both): what was replaced may have the first name afterwards."""


def rename_within(draft: str, name: str, folder: int) -> None:
    """Where files can change places whoever saved at the very moment is seen; else only who saved into the old file.
    Raises FileNotFoundError where there is nothing to be replaced any more."""
    if not exchange(draft, name, folder):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


class Folder:
    """Every method blocks, and raises RecordFailed where the disk or somebody's file is in the way."""

    def __init__(self, path: Path, rename: Rename | None = None) -> None:
        self.path = path
        self._rename = rename or rename_within

    def names(self) -> tuple[str, ...]:
        """What is in it; nothing where there is no folder."""
        try:
            with self._opened() as folder:
                return tuple(sorted(os.listdir(folder)))
        except FileNotFoundError:
            return ()

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none, nor anything that could be one. Bytes that are no UTF-8 come
        back as they were when the text is written."""
        try:
            with self._opened(name) as folder, _open(folder, name) or nullcontext() as file:
                return _text(file) if file else None
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        self.update(name, lambda _: text)

    def update(self, name: str, change: Callable[[str | None], str]) -> None:
        """Writes what `change` makes of what is there; it is asked again where that was saved anew meanwhile."""
        saved: str | None = None
        for _ in range(TRIES):
            done, saved = self._try(name, change, saved)
            if done:
                return
        raise RecordFailed(f"{self.path / name} is saved over and over by another program; end that, then try again")

    def remove(self, name: str) -> None:
        """A file that is not there is removed."""
        with suppress(FileNotFoundError), self._opened(name) as folder:
            os.unlink(name, dir_fd=folder)

    def _try(self, name: str, change: Callable[[str | None], str], saved: str | None) -> "_Replacing":
        self._make()
        try:
            with self._opened(name) as folder:
                _await_saving(lambda: os.stat(name, dir_fd=folder, follow_symlinks=False))
                return _replace(folder, name, change, saved, self._rename)
        except FileNotFoundError:  # somebody removed the folder, or has moved the file away to write another one
            return _Replacing(done=False, saved=saved)

    def _make(self) -> None:
        try:
            private_folder(self.path)
        except (NotOurs, OSError) as error:
            raise RecordFailed(f"documents cannot be written: {error}") from error

    @contextmanager
    def _opened(self, name: str = "") -> Iterator[int]:
        """The folder, for what is done to that file in it. Raises FileNotFoundError; any other OSError becomes
        RecordFailed."""
        folder = -1
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            yield folder
        except FileNotFoundError:
            raise
        except OSError as error:
            way_out = "free some space" if error.errno in _FULL else "move away what is in the way"
            what = f"{self.path / name}: {error.strerror or error}; {way_out}, then try again"
            raise RecordFailed(what, errno=error.errno) from error
        finally:
            if folder >= 0:
                os.close(folder)


def _await_saving(status: Callable[[], os.stat_result]) -> None:
    """An editor that writes in place empties the file first: for a moment what its user wrote is nowhere."""
    with suppress(FileNotFoundError):
        for _ in range(TRIES):
            if status().st_size:
                return
            time.sleep(SAVING_SECONDS)


def _open(folder: int, name: str) -> BinaryIO | None:
    """None for what is no regular file. Raises OSError for one that cannot be opened."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    return None


def _text(file: BinaryIO) -> str:
    file.seek(0)
    found = file.read(READ_BYTES + 1)
    if len(found) > READ_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return found.decode("utf-8", "surrogateescape")


class _Replacing(NamedTuple):
    """One try. Not `done`: somebody saved the file meanwhile; `saved` is what went into the one that is no more."""

    done: bool
    saved: str | None = None


def _replace(
    folder: int, name: str, change: Callable[[str | None], str], saved: str | None, rename: Rename
) -> _Replacing:
    with _open(folder, name) or nullcontext() as old:
        stamp = _stamp(os.fstat(old.fileno())) if old else None
        before = _text(old) if old else None
        text = change(before if saved is None else saved)
        if text == before:
            return _Replacing(done=True)
        with _draft(folder, name, text) as draft:
            if _stamp_of(folder, name) != stamp:
                return _Replacing(done=False, saved=saved)
            if stamp is None:
                return _Replacing(_put(draft, name, folder), saved)
            rename(draft, name, folder)
            with _open(folder, draft) or nullcontext(old) as replaced:
                return _seen(replaced, stamp)


def _put(draft: str, name: str, folder: int) -> bool:
    """Where there was no file: whether there still was none."""
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        if _stamp_of(folder, name) is not None:
            return False
    except OSError:  # a disk that knows no second name of a file
        pass
    else:
        return True
    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _seen(replaced: BinaryIO | None, stamp: _Stamp | None) -> _Replacing:
    """Whether what was replaced is what was read."""
    if replaced is None or _stamp(os.fstat(replaced.fileno())) == stamp:
        return _Replacing(done=True)
    _await_saving(lambda: os.fstat(replaced.fileno()))
    return _Replacing(done=False, saved=_text(replaced))


@contextmanager
def _draft(folder: int, name: str, text: str) -> Iterator[str]:
    """A file on its way, named; it is no more at the end, whether or not it got there."""
    draft = f".{name}{DRAFT}"
    _unlink(folder, draft)
    try:
        with open(os.open(draft, _CREATE, 0o600, dir_fd=folder), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        _unlink(folder, draft)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _stamp_of(folder: int, name: str) -> _Stamp | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return _stamp(found) if stat.S_ISREG(found.st_mode) else None


def _stamp(found: os.stat_result) -> _Stamp:
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
