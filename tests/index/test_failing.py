"""An index that is missing, stale, damaged or cannot be written: the same sessions are listed, and no step waits."""

import asyncio
import errno
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.harness.stories import AGENT, Story
from support.listed import Listed
from support.shell import outcome
from support.world import answer

from abey.runtime.index.file import FAILURES
from abey.runtime.store.io import FileIO

SESSIONS = 5


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a few sessions and no index."""
    folder = tmp_path / "state"
    store = Listed(folder, []).store
    store.save_config(AGENT.config_hash, {})
    for number in range(SESSIONS):
        story = Story(f"s{number}", Random(number), fat=0)
        story.create(store)
        for _ in range(8 * number):
            story.go_on()
        story.close()
    return folder


def daemon(state: Path, **more: Any) -> Listed:
    listed = Listed(state, [], **more)
    listed.source.known[""] = AGENT
    return listed


async def told(listed: Listed) -> Any:
    return [
        await listed.shown(),
        await listed.shown(query="hello don"),
        await listed.shown(query="ran"),
        await listed.shown(state="completed"),
        await listed.waiting(),
    ]


async def indexed(state: Path) -> bytes:
    """The index, after a daemon that has listed all and ended."""
    listed = daemon(state)
    await told(listed)
    await listed.close()
    return listed.file.read_bytes()


def files(state: Path) -> dict[str, int]:
    """The files of the index with their modes."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.glob("index.sqlite*")}


async def test_the_index_is_for_its_owner_only(state: Path) -> None:
    old = os.umask(0)
    try:
        listed = daemon(state)
        await told(listed)
        modes = files(state)
    finally:
        os.umask(old)
    assert modes == {"index.sqlite": 0o600, "index.sqlite-shm": 0o600, "index.sqlite-wal": 0o600}
    await listed.close()
    assert files(state) == {"index.sqlite": 0o600}


async def test_a_damaged_index_is_made_anew_wherever_the_damage_is(state: Path) -> None:
    whole = await indexed(state)
    right = await told(await daemon(state).load_all())
    page = 4096
    damages = {
        "no database": b"hello",
        "empty": b"",
        "NULs": bytes(len(whole)),
        **{f"cut at {size}": whole[:size] for size in range(page // 2, len(whole), page)},
        **{
            f"garbage at {at}": whole[:at] + Random(at).randbytes(page) + whole[at + page :]
            for at in range(0, len(whole), page)
        },
    }
    for damage, data in damages.items():
        (state / "index.sqlite").write_bytes(data)
        listed = daemon(state)
        assert await told(listed) == right, damage
        await listed.close()


async def test_a_row_that_is_not_what_was_written_is_not_believed(state: Path) -> None:
    await indexed(state)
    right = await told(await daemon(state).load_all())
    changes = (
        "UPDATE sessions SET state = 'stopped'",
        "UPDATE views SET view = replace(view, 'pending', 'pended')",
        "UPDATE views SET view = '{}'",
        "DELETE FROM views",
        "UPDATE sessions SET id = 's9' WHERE id = 's3'",
        "UPDATE sessions SET pending = 0",
        "UPDATE meta SET version = 'later'",
        "DELETE FROM meta",
        "DROP TABLE tokens",
        "DROP TABLE words",
        "DELETE FROM sessions WHERE id = 's2'",
    )
    for change in changes:
        with sqlite3.connect(state / "index.sqlite") as connection:
            connection.execute(change)
        connection.close()
        listed = daemon(state)
        assert await told(listed) == right, change
        await listed.close()


async def test_an_older_copy_of_the_index_is_brought_up_to_date(state: Path) -> None:
    older = await indexed(state)
    story = Story("s2", Random(99), fat=0)
    story.take_over(daemon(state).store)
    for _ in range(9):
        story.go_on()
    story.close()
    shutil.rmtree(state / "sessions/s1")
    await indexed(state)
    (state / "index.sqlite").write_bytes(older)
    listed = daemon(state)
    found = await told(listed)
    assert listed.sessions.entries == {}
    assert found == await told(await daemon(state).load_all())


class NoIndex(FileIO):
    """A disk on which nothing new can be made."""

    def __init__(self) -> None:
        super().__init__("process")
        self.tried = 0

    def open(self, path: Path, flags: int) -> int:
        self.tried += 1
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


async def test_without_any_index_everything_is_read_and_that_is_said_once(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = NoIndex()
    listed = daemon(state, disk=disk)
    with caplog.at_level(logging.WARNING):
        assert await told(listed) == await told(await daemon(state).load_all())
        story = next(iter(listed.sessions.loaded))
        for _ in range(5):
            await listed.shown(query="nothing")
    assert len(listed.sessions.entries) == SESSIONS
    assert disk.tried == FAILURES
    said = [one.getMessage() for one in caplog.records if "index" in one.getMessage()]
    assert len([one for one in said if "goes on without it" in one]) == 1, said
    assert story.failure is None
    await listed.close()


async def test_an_index_that_cannot_be_written_any_more_costs_no_session_anything(state: Path) -> None:
    listed = Listed(state, [answer(("c1", "ask", "{}")), answer(text="done")])
    listed.source.known[""] = AGENT
    await told(listed)
    live = (await listed.start("new")).live
    await outcome(await listed.drive(live))
    listed.file.unlink()
    listed.file.mkdir()
    for suffix in ("-wal", "-shm"):
        listed.file.with_name(listed.file.name + suffix).unlink(missing_ok=True)
    await outcome(await listed.drive(live))
    assert (await listed.ids(query="hello"))[-1] == "s0"
    assert "new" in await listed.ids()
    await listed.close()
    listed.file.rmdir()
    assert await told(daemon(state)) == await told(await daemon(state).load_all())


async def test_no_step_waits_for_the_index(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [answer(("c1", "run", "{}")), answer(text="warm")])
    live = (await listed.start()).live
    await listed.ids(query="hello")
    with sqlite3.connect(listed.file, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")  # as if its disk hung
        for _ in range(3):
            await asyncio.wait_for(outcome(await listed.drive(live)), 2)
            listed.clock.advance(1)
        other.execute("ROLLBACK")
    other.close()
    assert await listed.ids(query="warm") == ["s1"]
    await listed.close()


async def test_records_are_written_behind_once_a_second_and_at_the_end(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [answer(("c1", "run", "{}")), answer(text="warm in Paris")])
    live = (await listed.start()).live
    await outcome(await listed.drive(live))

    def revision() -> int | None:
        if not listed.file.exists():
            return None
        with sqlite3.connect(listed.file) as other:
            there = other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'words'").fetchone()[0]
            found = other.execute("SELECT max(revision) FROM sessions").fetchone()[0] if there else None
        other.close()
        return found if found is None else int(found)

    assert revision() is None
    listed.clock.advance(1)
    await listed.until(lambda: revision() == live.machine.session.revision)
    before = revision()
    await outcome(await listed.drive(live))
    await outcome(await listed.drive(live))
    assert revision() == before
    await listed.close()
    assert revision() == live.machine.session.revision


def test_a_daemon_starts_without_sqlite() -> None:
    program = "import sys, abey.daemon.app; print('sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
