"""Clearing up while sessions are in use: what goes, what stays, and that no record, nor what it names, ever goes."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from support.shell import CLIENT, Shell, answer

from abey.core import events as e
from abey.errors import RecordFailed
from abey.runtime.clock import millis_of
from abey.runtime.collecting import Collector
from abey.runtime.live import Live
from abey.runtime.peeking import peek
from abey.runtime.retention import Garbage
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.trash import take_back, trashed

DAY = 86_400
LARGE = "x" * 40_000


def made(state: Path) -> Shell:
    """A daemon's inside whose time is that of the files."""
    shell = Shell(state, [])
    shell.clock.advance(time.time() - millis_of(shell.clock.now()) / 1000 + 1)
    return shell


def collector(shell: Shell, io: FileIO | None = None) -> Collector:
    async def delete(session_id: str, revision: int) -> None:
        await shell.keeping.delete(session_id, revision, force=False)

    return Collector(shell.store.state_dir, io or FaultyIO(), shell.sessions, shell.clock, delete)


def age(shell: Shell, seconds: float) -> None:
    """Nothing on disk has changed for so long."""
    at = millis_of(shell.clock.now()) * 1_000_000 - int(seconds * 1e9)
    for path in shell.store.state_dir.rglob("*"):
        os.utime(path, ns=(at, at), follow_symlinks=False)


def later(shell: Shell, days: float) -> None:
    """So many days pass, and nobody touches anything."""
    age(shell, 0)
    shell.clock.advance(days * DAY + 1)


async def session(shell: Shell, name: str, *calls: tuple[str, str, str]) -> Live:
    """A session that has answered, or whose calls wait."""
    shell.model.replies += [answer(*calls, text=LARGE)]
    live = (await shell.start(name, run=e.UNTIL_YIELD)).live
    await shell.until(lambda: live.machine.work.run is None and not live.machine.work.live)
    return live


async def archive(shell: Shell, live: Live) -> None:
    await shell.scheduler.submit(live, e.Update(None, True, CLIENT))


def lost_blob(live: Live) -> Path:
    """A blob that no record names."""
    folder = live.journal.path.parent / "blobs"
    folder.mkdir(exist_ok=True)
    path = folder / ("0" * 64)
    path.write_text("lost")
    return path


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kinds(found: tuple[Garbage, ...]) -> list[tuple[str, str | None]]:
    return [(one.kind, one.session_id) for one in found]


async def test_an_old_archived_or_stopped_session_goes_to_the_trash_and_then_for_good(tmp_path: Path) -> None:
    shell = made(tmp_path)
    await archive(shell, await session(shell, "archived"))
    await shell.scheduler.submit(await session(shell, "stopped"), e.Stop(None, CLIENT))
    await session(shell, "merely-old")
    await archive(shell, await session(shell, "waits", ("c1", "ask", "{}")))
    gc = collector(shell)
    later(shell, 90)
    seen = await gc.look()
    assert kinds(seen) == [("session", "archived"), ("session", "stopped")]
    assert shell.store.ids() == ("archived", "merely-old", "stopped", "waits")
    assert (await gc.collect(), shell.store.ids()) == (seen, ("merely-old", "waits"))
    assert [one.session_id for one in trashed(FaultyIO(), tmp_path / "trash")] == ["archived", "stopped"]
    assert (await gc.collect(), shell.heard.went) == ((), ["archived", "stopped"])
    later(shell, 14)
    assert [(one.kind, one.reason) for one in await gc.collect()] == [
        ("trash", "it was deleted more than 14 days ago")
    ] * 2
    assert os.listdir(tmp_path / "trash") == []


async def test_a_session_that_is_not_in_memory_is_treated_the_same(tmp_path: Path) -> None:
    first = made(tmp_path)
    await archive(first, await session(first, "archived"))
    await session(first, "merely-old")
    await first.scheduler.close()
    shell = made(tmp_path)
    later(shell, 91)
    gc = collector(shell)
    assert kinds(await gc.look()) == [("session", "archived")]
    assert shell.sessions.loaded == ()
    await gc.collect()
    assert shell.store.ids() == ("merely-old",)


async def test_a_session_that_was_changed_or_touched_lately_stays(tmp_path: Path) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    later(shell, 100)
    await archive(shell, live)
    age(shell, 100 * DAY)
    assert await collector(shell).collect() == ()
    later(shell, 89)
    assert await collector(shell).collect() == ()
    age(shell, 0)
    shell.clock.advance(2 * DAY)
    assert await collector(shell).collect() == ()


async def test_a_session_that_was_restored_lately_stays(tmp_path: Path) -> None:
    shell = made(tmp_path)
    shell.clock.advance(-91 * DAY)
    await archive(shell, await session(shell, "s1"))
    shell.clock.advance(91 * DAY)
    age(shell, 91 * DAY)
    await shell.keeping.delete("s1", force=False)
    await shell.keeping.restore("s1")
    assert (await collector(shell).collect(), shell.store.ids()) == ((), ("s1",))
    shell.clock.advance(91 * DAY)
    assert (kinds(await collector(shell).collect()), shell.store.ids()) == ([("session", "s1")], ())


async def test_what_a_record_names_stays_and_what_none_names_goes(tmp_path: Path) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    [named] = (live.journal.path.parent / "blobs").iterdir()
    lost = lost_blob(live)
    later(shell, 1)
    assert [(one.kind, one.path) for one in await collector(shell).collect()] == [("blob", lost)]
    assert (named.exists(), lost.exists()) == (True, False)
    assert peek(FaultyIO(), live.journal.path.parent).lost == ()


@pytest.mark.parametrize("state", ["failed", "damaged", "torn"])
async def test_a_session_that_is_not_well_is_left_as_it_is(tmp_path: Path, state: str) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    await archive(shell, live)
    lost = lost_blob(live)
    if state == "failed":
        live.fail(RecordFailed("no space"))
    else:
        await shell.scheduler.close()
        data = live.journal.path.read_bytes()
        live.journal.path.write_bytes(data[:-3] if state == "torn" else data.replace(b"hello", b"hallo", 1))
        shell = made(tmp_path)
    later(shell, 900)
    before = files(tmp_path)
    assert await collector(shell).collect() == ()
    assert files(tmp_path) == before
    assert lost in before


async def test_a_session_that_works_is_left_alone_until_it_rests(tmp_path: Path) -> None:
    shell = made(tmp_path)
    shell.tools.instant = False
    shell.model.replies += [answer(("c1", "run", "{}")), answer(text="done")]
    live = (await shell.start("s1", run=e.UNTIL_YIELD)).live
    await shell.until(lambda: shell.tools.started == ["run"])
    lost = lost_blob(live)
    later(shell, 2)
    assert (await collector(shell).collect(), lost.exists()) == ((), True)
    shell.tools.end("run")
    await shell.until(lambda: live.machine.session.state == "completed" and live.machine.work.run is None)
    assert kinds(await collector(shell).collect()) == [("blob", "s1")]


async def test_nothing_goes_while_a_session_is_being_written_to(tmp_path: Path) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    lost = lost_blob(live)
    later(shell, 2)
    async with live.lock:
        going = asyncio.create_task(collector(shell).collect())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.shield(going)
        assert lost.exists()
    assert kinds(await going) == [("blob", "s1")]


async def test_a_session_whose_revision_has_changed_since_it_was_looked_at_stays(tmp_path: Path) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    await archive(shell, live)
    later(shell, 91)

    async def delete(session_id: str, revision: int) -> None:
        await shell.scheduler.submit(live, e.Update("still here", None, CLIENT))
        await shell.keeping.delete(session_id, revision, force=False)

    gc = Collector(tmp_path, FaultyIO(), shell.sessions, shell.clock, delete)
    assert (await gc.collect(), shell.store.ids()) == ((), ("s1",))


async def test_who_gives_up_waiting_leaves_no_half_collection(tmp_path: Path) -> None:
    shell = made(tmp_path)
    live = await session(shell, "s1")
    lost = lost_blob(live)
    later(shell, 2)
    gc = collector(shell)
    asked = asyncio.create_task(gc.collect())
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await shell.until(lambda: not lost.exists())
    await gc.close()
    assert await collector(shell).look() == ()


async def test_a_disk_that_fails_anywhere_costs_no_record(tmp_path: Path) -> None:
    for at in range(200):
        state = tmp_path / str(at)
        shell = made(state)
        live = await session(shell, "s1")
        await archive(shell, await session(shell, "s2"))
        revisions = {one.id: one.machine.session.revision for one in shell.sessions.loaded}
        lost_blob(live)
        (state / "configs" / "x.json.1-2.new").write_text("")
        (state / "trash" / "old.1.2020-01-01T000000.000Z" / "blobs").mkdir(parents=True)
        later(shell, 91)
        io = FaultyIO(Fault(at, sticky=at % 2 == 0))
        found = await collector(shell, io).collect()
        await shell.scheduler.close()
        for one in trashed(FaultyIO(), state / "trash"):
            if one.session_id == "s2":
                take_back(FaultyIO(), one, state / "sessions")
        kept = [peek(FaultyIO(), state / "sessions" / name) for name in ("s1", "s2")]
        assert {one.session.id: one.session.revision for one in kept if one.session} == revisions
        assert [(one.damage, one.torn, one.lost) for one in kept] == [(None, False, ())] * 2
        if at >= len(io.calls):
            assert len(found) == 4
            return
    raise AssertionError("the collection never came to an end")


async def test_a_file_in_the_place_of_the_sessions_is_left_alone(tmp_path: Path) -> None:
    shell = made(tmp_path)
    folder = tmp_path / "sessions"
    folder.rmdir()
    folder.write_text("x")
    assert await collector(shell).collect() == ()
    assert folder.read_text() == "x"
