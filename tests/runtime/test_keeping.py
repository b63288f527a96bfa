"""Deleting, restoring and mending sessions, whoever else holds them and wherever the disk fails."""

import asyncio
import gc
import os
from pathlib import Path

import pytest
from support.shell import CLIENT, Shell, answer, outcome

from abey.core import events as e
from abey.errors import (
    InvalidState,
    RecordFailed,
    RevisionConflict,
    SessionBusy,
    SessionDamaged,
    UnknownSession,
    UnknownToken,
)
from abey.runtime.keeping import Repair
from abey.runtime.live import Live
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.trash import deleted_at

DONE = answer(text="done")
ASKS = answer(("c1", "ask", "{}"))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def session_files(shell: Shell, session_id: str = "s1") -> dict[str, bytes]:
    return tree(shell.store.state_dir / "sessions" / session_id)


def journal(shell: Shell, session_id: str = "s1") -> Path:
    return shell.store.state_dir / "sessions" / session_id / "journal.jsonl"


def trash(shell: Shell) -> list[str]:
    return sorted(path.name for path in (shell.store.state_dir / "trash").iterdir())


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


async def waiting(shell: Shell) -> Live:
    """A session with one call that waits for an approval."""
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "waiting"
    return started.live


async def test_a_deleted_session_is_whole_in_the_trash_and_nowhere_else(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE])
    await outcome(await shell.start(run=e.UNTIL_YIELD))
    before = session_files(shell)
    await shell.keeping.delete("s1", force=False)
    [name] = trash(shell)
    when = shell.clock.now()
    assert (tree(tmp_path / "trash" / name), deleted_at(tmp_path / "trash" / name)) == (before, when)
    assert (shell.store.ids(), await shell.sessions.all(), shell.heard.went) == ((), ((), ()), ["s1"])
    with pytest.raises(UnknownSession):
        await shell.sessions.get("s1")
    with pytest.raises(UnknownSession):
        await shell.keeping.delete("s1", force=False)


async def test_nothing_of_a_deleted_session_stays_in_memory(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ASKS])
    live = await waiting(shell)
    [call] = live.machine.session.batch.calls  # type: ignore[union-attr] # it waits
    descriptors = open_descriptors()
    await shell.keeping.delete("s1", force=True)
    assert (live.timers, live.runs, live.calls, live.tasks) == ({}, {}, {}, {})
    assert open_descriptors() == descriptors - 1
    with pytest.raises(UnknownToken):
        await shell.sessions.of_token(call.verdict.token)
    del live, call
    await asyncio.sleep(0)
    gc.collect()
    assert [one.id for one in gc.get_objects() if isinstance(one, Live)] == []


async def test_who_holds_a_deleted_session_is_told_that_it_is_unknown(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ASKS])
    started = await shell.start(run=e.UNTIL_TURN)
    live = started.live
    await shell.until(lambda: live.machine.session.state == "partialUserTurn")
    changed = asyncio.create_task(live.changed.wait())
    await asyncio.sleep(0)
    await shell.keeping.delete("s1", force=True)
    with pytest.raises(UnknownSession):
        await outcome(started)
    with pytest.raises(UnknownSession):
        await shell.drive(live)
    await asyncio.wait_for(changed, 10)


async def test_a_session_that_works_is_not_deleted(tmp_path: Path) -> None:
    gate = asyncio.Event()
    shell = Shell(tmp_path, [gate, DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    for force in (False, True):
        with pytest.raises(SessionBusy, match="session s1 is busy \\(model\\)"):
            await shell.keeping.delete("s1", force=force)
    gate.set()
    assert await outcome(started) == "completed"
    await shell.keeping.delete("s1", force=False)


async def test_a_session_with_work_in_the_background_is_not_deleted(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "bg", "{}"))])
    shell.tools.instant = False
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "waiting"
    with pytest.raises(SessionBusy, match="a call runs in the background"):
        await shell.keeping.delete("s1", force=True)
    shell.tools.end("bg")


async def test_a_session_whose_calls_wait_is_deleted_only_by_force(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ASKS])
    live = await waiting(shell)
    [call] = live.machine.session.batch.calls  # type: ignore[union-attr] # it waits
    with pytest.raises(InvalidState) as refused:
        await shell.keeping.delete("s1", force=False)
    assert refused.value.message == (
        "session s1 has calls that wait for somebody: ask (c1); force deletes it all the same"
    )
    assert refused.value.details == {
        "state": "partialUserTurn",
        "sessionId": "s1",
        "tokens": [call.verdict.token],
    }
    await shell.keeping.delete("s1", force=True)
    assert shell.store.ids() == ()


async def test_a_session_at_another_revision_is_not_deleted(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    await shell.start()
    with pytest.raises(RevisionConflict):
        await shell.keeping.delete("s1", 1, force=False)
    await shell.keeping.delete("s1", 2, force=False)


async def test_a_damaged_session_is_deleted_only_by_force_and_comes_back_as_it_was(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    journal(shell).parent.mkdir()
    journal(shell).write_bytes(b"hello\n")
    with pytest.raises(InvalidState, match="nobody can tell whether calls wait"):
        await shell.keeping.delete("s1", force=False)
    await shell.keeping.delete("s1", force=True)
    assert (shell.store.ids(), await shell.sessions.all()) == ((), ((), ()))
    with pytest.raises(SessionDamaged) as told:
        await shell.keeping.restore("s1")
    assert told.value.message == (
        "session s1 is back from the trash, and cannot be shown: session s1 is damaged at byte 0: the first write is"
        " not whole, or this is no journal: the checksum does not match; `abey repair s1` says what can be done"
    )
    assert told.value.details == {"sessionId": "s1", "offset": 0}
    assert session_files(shell) == {"journal.jsonl": b"hello\n"}


async def test_a_restored_session_goes_on_where_it_was(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ASKS])
    live = await waiting(shell)
    before = live.machine.session
    await shell.keeping.delete("s1", force=True)
    machine, damage = await shell.keeping.restore("s1")
    assert (machine.session, damage, trash(shell)) == (before, None, [])
    [call] = before.batch.calls  # type: ignore[union-attr] # it waits
    again, _ = await shell.sessions.of_token(call.verdict.token)
    assert again is not live
    await shell.scheduler.submit(again, e.Cancel(None, None, CLIENT))


async def test_an_id_may_be_used_again_and_the_last_one_deleted_comes_back(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    written = []
    for _ in range(3):
        live = (await shell.start()).live
        for _ in written:
            await shell.scheduler.submit(live, e.Pause("x", CLIENT))
        written.append(journal(shell).read_bytes())
        await shell.keeping.delete("s1", force=False)
    assert len(set(written)) == 3
    assert [name.split(".")[1] for name in trash(shell)] == ["1", "2", "3"]
    for expected in reversed(written):
        await shell.keeping.restore("s1")
        assert journal(shell).read_bytes() == expected
        with pytest.raises(InvalidState, match="session s1 exists"):
            await shell.keeping.restore("s1")
        journal(shell).unlink()
        journal(shell).parent.rmdir()
        shell.sessions.forget("s1")


async def test_what_the_trash_has_not_is_unknown_and_what_begins_alike_is_named(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    for name in ("paris-1", "paris-2", "rome"):
        await shell.start(name)
        await shell.keeping.delete(name, force=False)
    with pytest.raises(UnknownSession) as refused:
        await shell.keeping.restore("paris")
    assert refused.value.message == "the trash has no session paris; it has paris-1, paris-2"
    assert refused.value.details == {"sessionId": "paris", "trashed": ["paris-1", "paris-2"]}
    with pytest.raises(UnknownSession, match=r"the trash has no session x\Z"):
        await shell.keeping.restore("x")


async def test_of_two_who_delete_at_once_one_is_told_that_it_is_unknown(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    await shell.start()
    both = await asyncio.gather(*(shell.keeping.delete("s1", force=False) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in both] in ([type(None), UnknownSession], [UnknownSession, type(None)])
    assert len(trash(shell)) == 1


async def test_a_deletion_goes_to_its_end_when_nobody_waits_for_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    await shell.start()
    asked = asyncio.create_task(shell.keeping.delete("s1", force=False))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await shell.keeping.close()
    assert (shell.store.ids(), len(trash(shell))) == ((), 1)


async def test_wherever_a_deletion_fails_the_session_is_whole_here_or_there(tmp_path: Path) -> None:
    places = set()
    for at in range(20):
        io = FaultyIO()
        shell = Shell(tmp_path / str(at), [], io=io)
        live = (await shell.start()).live
        before = session_files(shell)
        io.fault = Fault(len(io.calls) + at, sticky=True)
        try:
            await shell.keeping.delete("s1", force=False)
        except RecordFailed:
            failed = True
        else:
            failed = False
        io.fault = None
        here = shell.store.exists("s1")
        places.add((failed, here))
        if here:
            assert session_files(shell) == before
            await shell.scheduler.submit(live, e.Pause(None, CLIENT))
        else:
            [name] = trash(shell)
            assert tree(shell.store.state_dir / "trash" / name) == before
            with pytest.raises(UnknownSession):
                await shell.sessions.get("s1")
            machine, _ = await shell.keeping.restore("s1")
            assert machine.session == live.machine.session
        if not failed:
            break
    assert places == {(True, True), (True, False), (False, False)}


def mangle(shell: Shell) -> tuple[bytes, int]:
    """Half a copy of the fourth record before it; the journal then, and where the half begins."""
    path = journal(shell)
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:3], lines[3][:50], b"\n", *lines[3:]])
    path.write_bytes(damaged)
    return damaged, sum(map(len, lines[:3]))


async def test_a_damaged_session_is_mended_and_goes_on(tmp_path: Path) -> None:
    """C03"""
    first = Shell(tmp_path, [ASKS])
    before = (await waiting(first)).machine.session
    await first.scheduler.close()
    whole = journal(first).read_bytes()
    damaged, at = mangle(first)
    shell = Shell(tmp_path, [])
    _, [broken] = await shell.sessions.all()
    assert (broken.damage.offset, broken.machine and broken.machine.session.revision) == (at, 3)
    seen = await shell.keeping.examine("s1")
    assert (seen.applied, session_files(shell)) == (False, {"journal.jsonl": damaged})
    done = await shell.keeping.repair("s1")
    assert done == Repair(seen.found, seen.actions, True, "journal.jsonl.original-1")
    live = await shell.sessions.get("s1")
    [call] = live.machine.session.batch.calls  # type: ignore[union-attr] # it waits
    assert (call.state, live.machine.session.revision) == ("deferred", before.revision + 1)
    after = session_files(shell)
    assert (after["journal.jsonl"].startswith(whole), after["journal.jsonl.original-1"]) == (True, damaged)
    await shell.scheduler.submit(live, e.Cancel(None, None, CLIENT))
    again = await shell.keeping.repair("s1")
    size = journal(shell).stat().st_size
    assert again == Repair((f"the journal is whole: revisions 1 to 10, {size} bytes",), (), False)


async def test_every_call_is_in_doubt_where_a_record_was_lost(tmp_path: Path) -> None:
    first = Shell(tmp_path, [ASKS])
    await waiting(first)
    await first.scheduler.close()
    path = journal(first)
    path.write_bytes(path.read_bytes() + b"half\nof something\n" + path.read_bytes().splitlines(keepends=True)[0])
    shell = Shell(tmp_path, [])
    assert (await shell.keeping.repair("s1")).applied
    [call] = (await shell.sessions.get("s1")).machine.session.batch.calls  # type: ignore[union-attr] # it waits
    assert call.state == "uncertain"


async def test_looking_at_a_torn_tail_changes_nothing_and_repair_opens_the_session(tmp_path: Path) -> None:
    first = Shell(tmp_path, [DONE])
    await outcome(await first.start(run=e.UNTIL_YIELD))
    await first.scheduler.close()
    torn = journal(first).read_bytes()[:-5]
    journal(first).write_bytes(torn)
    shell = Shell(tmp_path, [])
    seen = await shell.keeping.examine("s1")
    assert (seen.applied, session_files(shell)) == (False, {"journal.jsonl": torn})
    assert await shell.keeping.repair("s1") == Repair(seen.found, seen.actions, True)
    await shell.sessions.get("s1")
    assert sorted(session_files(shell))[1:] == [f"journal.jsonl.tail-{seen.found[0].split()[5].strip(',')}"]


async def test_what_cannot_be_mended_is_refused_with_the_way_out(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    journal(shell).parent.mkdir()
    journal(shell).write_bytes(b"")
    way_out = "there is nothing to mend; `abey session delete s1 --force` moves what is there to the trash"
    assert await shell.keeping.examine("s1") == Repair(("the journal is empty", way_out), (), False)
    with pytest.raises(SessionDamaged) as refused:
        await shell.keeping.repair("s1")
    assert refused.value.message == f"session s1: the journal is empty; {way_out}"
    for ask in (shell.keeping.examine, shell.keeping.repair):
        with pytest.raises(UnknownSession):
            await ask("nosuch")


async def test_a_session_that_only_failed_a_write_is_for_reopen(tmp_path: Path) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path, [], io=io)
    live = (await shell.start()).live
    io.fault = Fault(len(io.calls), sticky=True)
    with pytest.raises(RecordFailed):
        await shell.scheduler.submit(live, e.Pause(None, CLIENT))
    io.fault = None
    way_out = "`abey session reopen s1` (agents/reopen) loads it again once the cause is gone"
    assert live.failure is not None
    expected = Repair((f"the session stopped taking requests: {live.failure.message}", way_out), (), False)
    assert [await shell.keeping.examine("s1"), await shell.keeping.repair("s1")] == [expected, expected]
    await shell.sessions.reopen("s1")
    assert (await shell.keeping.examine("s1")).found[0].startswith("the journal is whole")


async def test_a_session_that_works_is_not_mended(tmp_path: Path) -> None:
    gate = asyncio.Event()
    shell = Shell(tmp_path, [gate, DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    with pytest.raises(SessionBusy):
        await shell.keeping.repair("s1")
    gate.set()
    await outcome(started)


async def test_whoever_holds_a_session_that_is_mended_may_ask_again(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ASKS])
    live = await waiting(shell)
    live.journal.park()
    mangle(shell)
    assert (await shell.keeping.repair("s1")).applied
    with pytest.raises(SessionBusy, match="was mended just now"):
        await shell.drive(live)
    await shell.scheduler.submit(await shell.sessions.get("s1"), e.Pause(None, CLIENT))
