"""kill -9 of a process that writes a journal as fast as it can, at any moment."""

import os
import select
import shutil
import signal
import struct
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.harness.stories import Story, Vanished, fault_in

from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Opened
from abey.runtime.store.store import Store

MOST_BYTES = 40_000
LATER = "2026-01-01T00:00:00.000Z"
TOLD = struct.Struct("<II")
"""The revision and the CRC of the last record of an acknowledged write."""


@dataclass
class Kills:
    kills: int = 0
    acknowledged: int = 0
    torn: int = 0


def kill_writers(folder: Path, chance: Random, kills: int) -> Kills:
    """Raises Vanished or AssertionError for the first kill after which something is missing."""
    found = Kills()
    store = Store(folder, FileIO("process"))
    number, before = 0, b""
    while found.kills < kills:
        session_id = f"s{number}"
        told = _killed(folder, session_id, chance)
        found.kills += 1
        found.acknowledged += len(told)
        journal = folder / "sessions" / session_id / "journal.jsonl"
        opened = store.open(session_id, LATER) if store.exists(session_id) else None
        if not isinstance(opened, Opened):
            # nobody was told that there is a session; its id is taken where a folder of it is left
            assert not told, opened
            assert not before, opened
            number += opened is not None
            continue
        found.torn += opened.repaired is not None
        opened.journal.close()
        before = _check(journal, opened, told, before)
        if len(before) > MOST_BYTES:
            shutil.rmtree(journal.parent)
            number, before = number + 1, b""
    return found


def _check(journal: Path, opened: Opened, told: list[tuple[int, int]], before: bytes) -> bytes:
    data = journal.read_bytes()
    lines = data.splitlines(keepends=True)
    if not data.startswith(before):
        raise Vanished("what an earlier daemon left has changed")
    for revision, crc in told:
        if revision > len(lines) or lines[revision - 1][:8] != b"%08x" % crc:
            raise Vanished(f"revision {revision} was acknowledged; there are {len(lines)} records")
    assert fault_in(opened.records) is None
    return data


def _killed(folder: Path, session_id: str, chance: Random) -> list[tuple[int, int]]:
    """What a writer acknowledged up to its death."""
    seed, moment, at_work = chance.random(), chance.uniform(0.0, 0.02), chance.random() < 0.9
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _write(folder, session_id, Random(seed), writer)
    os.close(writer)
    if at_work:
        select.select([reader], [], [])
    select.select([], [], [], moment)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert b"Traceback" not in data, data.decode(errors="replace")
    return list(TOLD.iter_unpack(data[: len(data) // TOLD.size * TOLD.size]))


def _write(folder: Path, session_id: str, chance: Random, told: int) -> None:
    """Never returns."""
    try:
        store = Store(folder, FileIO("process"))
        story = Story(session_id, chance, fat=0.05)
        if session_id in store.ids():
            story.take_over(store)
        else:
            story.create(store)
        while story.journal is not None:
            os.write(told, TOLD.pack(story.journal.revision, story.journal.end.crc))
            story.go_on()
    except BaseException:  # noqa: BLE001  nothing of the test may go on in a child
        os.write(told, traceback.format_exc().encode())
        sys.stderr.flush()
    os._exit(1)
