"""The copy that a fork begins with: whole or not there, whatever the disk does, and its source only read."""

import errno
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.shell import Shell
from support.stories import dispatched
from support.world import CLIENT, World

from abey.core.forking import Fork
from abey.errors import RecordFailed, SessionDamaged
from abey.protocol import journal as j
from abey.runtime.live import Live
from abey.runtime.ports import Ports
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.transfer.adopting import Adopting
from abey.runtime.transfer.forking import Copy, copied

NOW = "2026-01-01T00:00:00.000Z"
WHOLE = b"all of it"
NAME = hashlib.sha256(WHOLE).hexdigest()
FORK = Fork("f1", "t (fork)", CLIENT, NOW, b"chance")


def inside(shell: Shell) -> Adopting:
    ports = Ports(
        clock=shell.clock,
        store=shell.store,
        agents=shell.source,
        models=lambda _, __: shell.model,
        tools={},
        check=lambda *_: None,
        listener=shell.heard,
    )
    return Adopting(ports, shell.sessions, shell.versions)


def story(shell: Shell) -> tuple[j.Record, ...]:
    """A call whose output is long, with its whole output and with a part of it that is a blob of its own."""
    world = dispatched("run", world=World(shell.source.only))
    world.tool_ends("run", "x" * 50_000)
    records = [replace(record, at=NOW) for record in world.records]
    for index, record in enumerate(records):
        if isinstance(record.data, j.CallFinished):
            whole = j.BlobRef(sha256=NAME, bytes=len(WHOLE))
            records[index] = replace(record, data=record.data.model_copy(update={"whole": whole}))
    created = records[0].data
    assert shell.source.only is not None
    config = {"config": shell.source.only.config, "config_hash": shell.source.only.config_hash}
    return (replace(records[0], data=created.model_copy(update=config)), *records[1:])


async def source(shell: Shell) -> Live:
    return await inside(shell).adopt(story(shell), {}, {NAME: WHOLE})


def files(state: Path, session_id: str) -> dict[str, bytes]:
    folder = state / "sessions" / session_id
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_fork_has_copies_of_the_blobs_that_its_records_name(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    live = await source(shell)
    before = files(tmp_path, "s1")
    copy = copied(shell.store, "s1", live.machine.session.revision, FORK)
    assert copy.wholes == {NAME: WHOLE}
    await inside(shell).adopt(copy.records, {}, copy.wholes)
    assert {name for name in files(tmp_path, "f1") if name.startswith("blobs/")} == {
        name for name in before if name.startswith("blobs/")
    }
    assert files(tmp_path, "s1") == before
    assert copied(shell.store, "s1", 2, FORK).wholes == {}


async def test_a_whole_output_that_is_missing_is_missing_in_the_fork(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    live = await source(shell)
    (tmp_path / "sessions" / "s1" / "blobs" / NAME).unlink()
    copy = copied(shell.store, "s1", live.machine.session.revision, FORK)
    assert copy.wholes == {}
    assert any(record.data.whole for record in copy.records if isinstance(record.data, j.CallFinished))


async def test_a_journal_that_lacks_the_revision_is_damaged(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    await source(shell)
    with pytest.raises(SessionDamaged, match="goes only to revision 8"):
        copied(shell.store, "s1", 9, FORK)


async def test_whatever_call_fails_there_is_a_whole_fork_or_none_and_its_source_is_as_it_was(tmp_path: Path) -> None:
    made, names = await _forked(tmp_path / "count", None)
    assert made
    refused = []
    for at in range(len(names)):
        made, _ = await _forked(tmp_path / str(at), at)
        refused += [] if made else [names[at]]
    assert {"make_directory", "open", "write", "sync", "sync_directory"} <= set(refused)


async def _forked(state: Path, at: int | None) -> tuple[bool, list[str]]:
    """Whether a fork was made though the call of this number failed, and the calls that there were."""
    io = FaultyIO()
    shell = Shell(state, [], io=io)
    live = await source(shell)
    before, start = files(state, "s1"), len(io.calls)
    copy = copied(shell.store, "s1", live.machine.session.revision, FORK)
    io.fault = None if at is None else Fault(start + at, errno.ENOSPC)
    made = await _adopted(shell, copy)
    calls, io.fault = io.calls[start:], None
    assert set(shell.store.ids()) == ({"s1", "f1"} if made else {"s1"})
    assert files(state, "s1") == before
    if not made:
        await inside(shell).adopt(copy.records, {}, copy.wholes)
    again = await Shell(state, []).sessions.get("f1")
    assert again.machine.session.created.forked_from == "s1"
    return made, calls


async def _adopted(shell: Shell, copy: Copy) -> bool:
    try:
        await inside(shell).adopt(copy.records, {}, copy.wholes)
    except RecordFailed:
        return False
    return True
