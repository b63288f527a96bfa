"""A session out of ready records: whole or not there, whoever waits for it and whatever the disk does."""

import asyncio
import errno
from pathlib import Path

import pytest
from support.shell import Shell
from support.world import CLIENT, check_arguments, text_parts

from abey.core import events as e
from abey.errors import AbeyError, InvalidState, RecordFailed
from abey.protocol import journal as j
from abey.runtime.ports import Ports
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.transfer.adopting import Adopting

AT = "2026-01-01T00:00:00.000Z"
BIG = "x" * 50_000
WHOLE = {"a" * 64: b"all of it"}


def inside(shell: Shell) -> Adopting:
    ports = Ports(
        clock=shell.clock,
        store=shell.store,
        agents=shell.source,
        models=lambda _: shell.model,
        tools={},
        check=check_arguments,
        listener=shell.heard,
    )
    return Adopting(ports, shell.sessions, shell.versions)


def story(shell: Shell, session_id: str = "s1") -> tuple[j.Record, ...]:
    assert shell.source.only is not None
    created = j.Created(
        session_id=session_id,
        agent="a",
        config=shell.source.only.config,
        config_hash=shell.source.only.config_hash,
        cwd="/",
        title="t",
    )
    told = (created, j.Input(turn_id="t1", input_id="i1", parts=text_parts(BIG)), j.Imported(format="x", source="f"))
    return tuple(j.Record(rev, AT, data) for rev, data in enumerate(told, 1))


async def test_the_session_is_in_memory_and_on_disk_and_everybody_is_told(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    live = await inside(shell).adopt(story(shell), {}, WHOLE)
    assert await shell.sessions.get("s1") is live
    assert shell.heard.revisions == [3]
    again = Shell(tmp_path, [])
    loaded = await again.sessions.get("s1")
    assert loaded.machine == live.machine
    assert (tmp_path / "sessions" / "s1" / "blobs" / ("a" * 64)).read_bytes() == b"all of it"
    await shell.scheduler.submit(live, e.Send(e.NewInput(text_parts("more"), delivery="queue"), None, CLIENT))
    assert live.machine.session.revision == 4


async def test_of_two_for_one_id_the_second_is_refused(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    adopting = inside(shell)
    first, second = await asyncio.gather(
        adopting.adopt(story(shell), {}, {}), adopting.adopt(story(shell), {}, {}), return_exceptions=True
    )
    assert not isinstance(first, BaseException)
    assert isinstance(second, InvalidState)


async def test_it_is_made_though_nobody_waits_any_more(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    adopting = inside(shell)
    waiting = asyncio.create_task(adopting.adopt(story(shell), {}, {}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await adopting.close()
    assert (await shell.sessions.get("s1")).machine.session.revision == 3


async def test_whatever_call_fails_the_session_is_there_whole_or_not_at_all_and_the_id_is_free(tmp_path: Path) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path / "count", [], io=io)
    before = len(io.calls)
    await inside(shell).adopt(story(shell), {}, WHOLE)
    names = io.calls[before:]
    refused = []
    for at in range(len(names)):
        io = FaultyIO()
        shell = Shell(tmp_path / str(at), [], io=io)
        io.fault = Fault(len(io.calls) + at, errno.ENOSPC)
        try:
            await inside(shell).adopt(story(shell), {}, WHOLE)
        except RecordFailed:
            refused.append(names[at])
            assert shell.store.ids() == ()
            io.fault = None
            await inside(shell).adopt(story(shell), {}, WHOLE)
        assert (await Shell(tmp_path / str(at), []).sessions.get("s1")).machine.session.revision == 3
    assert {"make_directory", "open", "write", "sync", "sync_directory"} <= set(refused)


async def test_an_agent_that_is_gone_is_said_before_anything_is_made(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    records = story(shell)
    asked = j.ModelRequested(
        turn_id="t1", step_id="s", invocation_id="i", request_hash="r", config_hash="b" * 64, driven_by="step"
    )
    with pytest.raises(AbeyError) as refused:
        await inside(shell).adopt((*records[:2], j.Record(3, AT, asked)), {}, {})
    assert "b" * 64 in refused.value.message
    assert shell.store.ids() == ()
