"""Whether who started us is still there: an editor that was killed may have left its end of the pipe to somebody else.

Stdlib only: the forwarder asks, too.
"""

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from abey.rpc.framing import Body, Frames

POLL_SECONDS = 0.5
"""How often is looked where the system has no pidfd."""
HEADER_BYTES = 8 << 10
FRAME_BYTES = 16 << 20

Gone = Callable[[], None]
"""Told, in a thread of its own, that the process has ended."""


class Parent:
    """Watches whose server we are: `gone` is told when that process has ended.

    That is the `processId` of `initialize`, if it started us or whoever did; else, for a number that means another
    process here (as out of a container), or for none, the process that has started us. What ends before the first
    message was a launcher, and did what it was there for.
    """

    def __init__(self, gone: Gone) -> None:
        self._gone = gone
        self._frames: Frames | None = Frames(HEADER_BYTES, FRAME_BYTES)

    def hears(self, data: bytes) -> None:
        """Bytes that the client sent; it is the first message that counts."""
        if self._frames is None:
            return
        for event in self._frames.feed(data):
            self._frames = None
            named = _process_id(event.data) if isinstance(event, Body) else None
            watch(named if named is not None and named in ancestors() else os.getppid(), self._gone)
            return


def handle(pid: int) -> int | None:
    """Of the process: a descriptor that can be read once it has ended; None where the system has none to give. Raises
    ProcessLookupError once it has ended."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        raise
    except OSError:
        return None


def watch(pid: int, gone: Gone, handle_of: Callable[[int], int | None] = handle) -> None:
    """Tells `gone` when process `pid`, one of our ancestors, has ended; at once where it has already. An ancestor that
    is outside of our container has no number."""
    if pid > 0:
        threading.Thread(target=_wait, args=(pid, gone, handle_of), daemon=True).start()


def ancestors() -> list[int]:
    """Who started us, who started that one, and so on; only the first where the system does not say."""
    found: list[int] = []
    pid = os.getppid()
    while pid > 0 and pid not in found:
        found.append(pid)
        pid = _parent_of(pid)
    return found


def _wait(pid: int, gone: Gone, handle_of: Callable[[int], int | None]) -> None:
    with contextlib.suppress(ProcessLookupError):
        watched = handle_of(pid)
        if watched is None:
            _poll(pid)
        elif pid in ancestors():  # else it ended, and its number may be another's by now
            select.select([watched], [], [])
    gone()


def _poll(pid: int) -> None:
    """Raises ProcessLookupError once it has ended."""
    started_by = os.getppid()
    while pid != started_by or os.getppid() == pid:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
        time.sleep(POLL_SECONDS)


def _parent_of(pid: int) -> int:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(after_name[1])
    except (OSError, IndexError, ValueError):
        return 0


def _process_id(body: bytes) -> int | None:
    """What a request `initialize` says; None where it says nothing, or is something else."""
    try:
        message = json.loads(body)
        found = message["params"]["processId"] if message["method"] == "initialize" else None
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
