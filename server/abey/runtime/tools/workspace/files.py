"""Files of a workspace: read within a bound, hashed, and replaced whole.

Laws
- Only regular files are opened: no device, pipe or socket is touched.
- Whoever looks, and whenever the daemon is killed, a file is the old one or the new one, never a part.
- A file is replaced only while it is the one that the change was made of.
"""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from abey.runtime.tools.workspace.paths import Refused, Spot, shown

LARGEST = 16 << 20
"""Bytes of a file that these tools take in whole."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_LEFT = ".abey-"


def content_of(spot: Spot) -> bytes | None:
    """All of the file, None where there is none. Raises Refused for what is no file, or a larger one; OSError."""
    if spot.status is None:
        return None
    with opened(spot) as file:
        return _whole(spot, file)


@contextmanager
def opened(spot: Spot) -> Iterator[int]:
    """The regular file there, open for reading. Raises Refused for anything else."""
    if spot.status is None:
        raise Refused(f"{shown(spot.path)}: there is no such file")
    _refuse_odd(spot, spot.status)
    file = os.open(spot.name, _READ, dir_fd=spot.folder)
    try:
        _refuse_odd(spot, os.fstat(file))
        yield file
    finally:
        os.close(file)


def preimage_of(spot: Spot, content: bytes | None) -> str:
    """What an approval is bound to: which file it is, without links, and all that is in it."""
    head = b"none" if content is None else b"file"
    return hashlib.sha256(b"\0".join((head, spot.path.encode(), content or b""))).hexdigest()


def put(spot: Spot, data: bytes, before: bytes | None) -> None:
    """Makes the file, and the folders it is to be in, or replaces it, if it still is `before`. Keeps its mode.

    Raises Refused where it is another one now, or its owner would change; OSError.
    """
    with _folder(spot) as folder:
        draft = _draft(folder, data, None if before is None else _replaceable(spot, folder))
        try:
            if before is None:
                _make(spot, folder, draft)
            else:
                _refuse_changed(spot, folder, before)
                os.replace(draft, spot.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
        _sync(folder)


def is_left(name: str) -> bool:
    """Whether a kill may have left this file in the middle of a write."""
    return name.startswith(_LEFT) and name.endswith(".tmp")


def changed(spot: Spot) -> Refused:
    return Refused(f"{shown(spot.path)} changed since it was read: read it again, then make the change anew")


def _whole(spot: Spot, file: int) -> bytes:
    pieces, size = list[bytes](), 0
    if os.fstat(file).st_size > LARGEST:
        raise _too_large(spot)
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise _too_large(spot)
    return b"".join(pieces)


def _too_large(spot: Spot) -> Refused:
    return Refused(f"{shown(spot.path)} has more than {LARGEST} bytes, which is too many for this tool")


def _refuse_odd(spot: Spot, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Refused(f"{shown(spot.path)} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{shown(spot.path)} is no regular file")


def _replaceable(spot: Spot, folder: int) -> os.stat_result:
    status = os.stat(spot.name, dir_fd=folder, follow_symlinks=False)
    _refuse_odd(spot, status)
    if not os.access(spot.name, os.W_OK, dir_fd=folder):
        raise Refused(f"{shown(spot.path)} is write-protected")
    return status


@contextmanager
def _folder(spot: Spot) -> Iterator[int]:
    """The folder that the file is in, made where it is missing."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(".", flags, dir_fd=spot.folder)
    try:
        for name in spot.missing:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, flags, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _draft(folder: int, data: bytes, like: os.stat_result | None) -> str:
    """The name of a new file beside the other one, which has all of `data`, on the disk."""
    name = f"{_LEFT}{secrets.token_hex(8)}.tmp"
    file, nameless = _new(folder, name)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if like is not None:
            _liken(file, like)
        os.fsync(file)
        if nameless:
            os.link(f"/proc/self/fd/{file}", name, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(file)
    return name


def _new(folder: int, name: str) -> tuple[int, bool]:
    """A new file; without a name where the system has such: then a kill leaves nothing of it."""
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is not None and os.path.exists("/proc/self/fd"):
        with suppress(OSError):  # a file system without them
            return os.open(".", nameless | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder), True
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o666, dir_fd=folder), False


def _liken(file: int, like: os.stat_result) -> None:
    """Raises Refused where it cannot belong to whom the other one does."""
    status = os.fstat(file)
    if (status.st_uid, status.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(file, like.st_uid, like.st_gid)
        except PermissionError:
            raise Refused("the file belongs to somebody else: to replace it would change its owner") from None
    os.fchmod(file, stat.S_IMODE(like.st_mode) & 0o777)


def _make(spot: Spot, folder: int, draft: str) -> None:
    try:
        os.link(draft, spot.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise changed(spot) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _exists(spot.name, folder):
            raise changed(spot) from None
        os.rename(draft, spot.name, src_dir_fd=folder, dst_dir_fd=folder)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _refuse_changed(spot: Spot, folder: int, before: bytes) -> None:
    """The last look before the file is replaced, on the file itself."""
    try:
        file = os.open(spot.name, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise changed(spot) from None
    try:
        _refuse_odd(spot, os.fstat(file))
        if _whole(spot, file) != before:
            raise changed(spot)
    finally:
        os.close(file)


def _sync(folder: int) -> None:
    with suppress(OSError):  # some file systems cannot sync a folder, and the file is whole without it
        os.fsync(folder)
