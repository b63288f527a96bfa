"""Programs that extensions have a session start: how they are talked to, and what is left of them."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.processes import alive, until
from support.stories import dispatched

from abey.extensions import Program, SessionInfo, Start, ToolError
from abey.runtime.extending.programs import Starting
from abey.runtime.tools.helper import ProcessHelper

MARK = f"98233.{os.getpid()}"
"""A number of seconds that no other program sleeps."""


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    helper = ProcessHelper()
    session = dispatched("ok").session
    env = {"PATH": os.environ["PATH"], "LANG": "C", "API_KEY": "secret"}
    yield Starting(helper).of(
        replace(session, created=session.created.model_copy(update={"cwd": str(tmp_path), "env": env}))
    )
    await helper.close()


async def all_of(program: Program) -> bytes:
    printed = b""
    while piece := await program.read():
        printed += piece
    await program.end()
    return printed


async def test_it_runs_in_the_folder_of_the_session_with_what_all_tools_have_and_what_is_added(
    start: Start, tmp_path: Path
) -> None:
    assert await all_of(await start("pwd")) == f"{tmp_path}\n".encode()
    told = await all_of(await start("env", env={"MORE": "1"}))
    assert sorted(told.decode().splitlines()) == ["LANG=C", "MORE=1", f"PATH={os.environ['PATH']}"]


async def test_what_it_is_told_and_what_it_says_are_read_as_they_come_however_much_it_is(start: Start) -> None:
    program = await start("cat")
    await program.write(b"a\n")
    assert await program.read() == b"a\n"
    writing = asyncio.create_task(program.write(b"x" * (8 << 20)))
    size = 0
    while size < 8 << 20:
        size += len(await program.read())
    await writing
    await program.end()
    assert (size, await program.read()) == (8 << 20, b"")


async def test_its_errors_are_among_what_it_prints(start: Start) -> None:
    assert await all_of(await start("sh", "-c", "echo a; echo b >&2")) == b"a\nb\n"


async def test_what_nobody_reads_any_more_is_lost(start: Start) -> None:
    program = await start("true")
    assert await program.read() == b""
    await program.write(b"x" * (1 << 20))
    await program.end()
    await program.write(b"x")
    await program.end()


async def test_who_writes_when_it_is_ended_is_let_go(start: Start) -> None:
    program = await start("sleep", MARK)
    writing = asyncio.create_task(program.write(b"x" * (1 << 20)))
    reading = asyncio.create_task(program.read())
    await until(lambda: alive(MARK))
    await program.end()
    await writing
    assert (await reading, alive(MARK)) == (b"", [])


async def test_all_that_it_has_started_ends_with_it(start: Start) -> None:
    program = await start("sh", "-c", f"setsid sleep {MARK} & exec sleep {MARK}")
    await until(lambda: len(alive(MARK)) == 2)
    await program.end()
    assert alive(MARK) == []


async def test_one_that_cannot_be_started_says_why(start: Start) -> None:
    program = await start("nothing-so-called")
    for _ in range(2):
        with pytest.raises(ToolError, match=r"^cannot start nothing-so-called: No such file or directory$"):
            await program.read()
    await program.end()
    assert await program.read() == b""


async def test_where_there_is_no_daemon_none_is_started() -> None:
    with pytest.raises(ToolError, match=r"^cannot start true: no programs are started here$"):
        await SessionInfo("s1", "a", "/tmp").start("true")
