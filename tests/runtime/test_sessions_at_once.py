"""Many ask at the same moment for a session that is not in memory; nobody is kept waiting for good."""

import asyncio
import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from support.shell import Shell

from abey.errors import InvalidState, UnknownSession
from abey.runtime.sessions import Sessions

ROUNDS = 30
PATIENCE = 20


@contextmanager
def in_time() -> Iterator[None]:
    """Also a loop that never pauses is ended: no timeout of asyncio could do that."""

    def late(_: int, __: object) -> None:
        raise TimeoutError("the event loop stands still")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def taken_away(sessions: Sessions) -> None:
    async with sessions.away("nothing"):
        assert sessions.peek("nothing") is None


async def test_whoever_comes_at_the_moment_a_load_has_failed_goes_on(tmp_path: Path) -> None:
    sessions = Shell(tmp_path / "state", []).sessions
    with in_time():
        for _ in range(ROUNDS):
            asked = asyncio.create_task(sessions.entry("nothing"))
            others: list[asyncio.Task[None]] = []
            while not asked.done():
                await asyncio.sleep(0)
                others.append(asyncio.create_task(taken_away(sessions)))
            await asyncio.gather(*others)
            with pytest.raises(UnknownSession):
                await asked


async def test_of_a_load_that_fails_nobody_is_told_who_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, read = list[str](), asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    sessions = Shell(tmp_path / "state", []).sessions

    async def study(session_id: str) -> NoReturn:
        await read.wait()
        raise UnknownSession(f"no session {session_id}")

    monkeypatch.setattr(sessions, "study", study)
    asked = asyncio.create_task(sessions.entry("nothing"))
    for _ in range(3):
        await asyncio.sleep(0)
        asked.cancel()
    read.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert asked.cancelled()
    del asked  # which holds what it waited for
    gc.collect()
    assert told == []


async def test_who_asks_whether_it_is_there_does_not_keep_a_session_from_being_made(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    asking = asyncio.create_task(shell.sessions.left_over("s1"))
    await asyncio.sleep(0)  # it looks at the disk now
    live = (await shell.start()).live
    with pytest.raises(UnknownSession):
        await asking
    assert (await shell.sessions.get("s1"), await shell.sessions.left_over("s1")) == (live, False)
    with pytest.raises(InvalidState, match="session s1 exists"):
        await shell.start()
