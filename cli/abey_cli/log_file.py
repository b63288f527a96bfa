"""The log of the daemon, line by line, over its rotation."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 16
LONGEST_LINE = 1 << 20

_ENTRY = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) ([A-Z]+) ([\w.]+): (.*)", re.DOTALL)


def entry(line: str) -> dict[str, str]:
    """A line for programs, whichever form it was written in; one that the logger did not begin, as of a traceback, is a
    message alone."""
    if (told := _told(line)) is not None:
        return told
    found = _ENTRY.fullmatch(line)
    if found is None:
        return {"message": line}
    at, level, logger, message = found.groups()
    return {"at": at, "level": level.lower(), "logger": logger, "message": message}


def shown(line: str) -> list[str]:
    """A line for people, whichever form it was written in."""
    told = _told(line)
    if told is None:
        return [line]
    first, *rest = [*told["message"].splitlines(), *told.get("error", "").splitlines()] or [""]
    begun = f"{told['at']} {told['level'].upper()} {told['logger']}: {first}"
    return [begun, *(f"    {more}" for more in rest)]


def _told(line: str) -> dict[str, str] | None:
    """What an object on a line says, where it is one that the logger wrote for programs."""
    if not line.startswith("{"):
        return None
    try:
        told = json.loads(line)
    except ValueError:
        return None
    is_ours = told.keys() >= {"at", "level", "logger", "message"} and all(isinstance(one, str) for one in told.values())
    return told if is_ours else None


def lines(path: Path, wait: Callable[[], bool] | None = None) -> Iterator[str]:
    """Every line there is, and with `wait` those that come: also of the file that takes the place of this one, or that
    is there only later. `wait` returns when it is worth another look, or False to end. Raises OSError."""
    rest = b""
    for data in _chunks(path, wait):
        *whole, rest = (rest + data).split(b"\n")
        yield from map(_text, whole)
        if len(rest) > LONGEST_LINE:
            yield _text(rest)
            rest = b""
    if rest:
        yield _text(rest)


def _chunks(path: Path, wait: Callable[[], bool] | None) -> Iterator[bytes]:
    file = _opened(path)
    try:
        while True:
            while file and (data := file.read(CHUNK_BYTES)):
                yield data
            if wait is None or not wait():
                return
            if file is None:
                file = _opened(path)
            elif _is_replaced(file, path):
                yield from iter(lambda old=file: old.read(CHUNK_BYTES), b"")  # type: ignore[misc]  # an open file
                file.close()
                file = _opened(path)
    finally:
        if file:
            file.close()


def _opened(path: Path) -> BinaryIO | None:
    """Without O_NONBLOCK whoever asks would wait at a named pipe for good."""
    try:
        return open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
    except FileNotFoundError:
        return None


def _is_replaced(file: BinaryIO, path: Path) -> bool:
    """Whether another file is at `path` now; nothing there is not yet another one. One that was cut is read anew."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    if there.st_size < file.tell():
        return True
    return not os.path.samestat(os.fstat(file.fileno()), there)


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
