"""What clients ask is worked out in threads: one a client, none of those in which journals are written."""

import asyncio
import threading

import pytest

from abey.language.turns import Turns
from abey.runtime.agents.aside import Aside


class Work:
    """Ends when it is told to, and knows how often it has begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.begins = threading.Semaphore(0)
        self.ends = threading.Semaphore(0)

    def __call__(self) -> str:
        self.begun += 1
        self.begins.release()
        self.ends.acquire()
        return threading.current_thread().name.partition("_")[0]

    async def has_begun(self) -> None:
        await asyncio.to_thread(self.begins.acquire)


async def test_a_client_waits_for_itself_and_nobody_for_another() -> None:
    turns, work, other = Turns(Aside()), Work(), Work()
    first, second = (asyncio.create_task(turns.run("ann", work)) for _ in range(2))
    await work.has_begun()
    theirs = asyncio.create_task(turns.run("bob", other))
    await other.has_begun()
    assert work.begun == 1
    for one in (other, work, work):
        one.ends.release()
    assert [await theirs, await first, await second] == ["agent-files"] * 3


async def test_what_nobody_waits_for_is_not_begun_and_what_has_begun_keeps_its_turn() -> None:
    turns, work = Turns(Aside()), Work()
    first, second, third = (asyncio.create_task(turns.run("ann", work)) for _ in range(3))
    await work.has_begun()
    for task in (first, second):
        task.cancel()
    await asyncio.wait([first, second])
    assert (work.begun, third.done()) == (1, False)
    work.ends.release()
    await work.has_begun()
    work.ends.release()
    assert (await third, work.begun) == ("agent-files", 2)


async def test_a_failure_ends_a_turn() -> None:
    turns = Turns(Aside())
    with pytest.raises(ZeroDivisionError):
        await turns.run("ann", lambda: 1 // 0)
    assert await turns.run("ann", lambda: "next") == "next"
