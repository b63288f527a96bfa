"""Work in flight: it may be cancelled at any moment, and how it ended is told in any case."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from abey.runtime.in_flight import InFlight, Undisturbed
from abey.runtime.signals import being_cancelled


class Told:
    """What was told, and whether that was being cancelled meanwhile."""

    def __init__(self) -> None:
        self.news: list[tuple[str, bool]] = []

    async def tell(self, end: str) -> None:
        await asyncio.sleep(0)
        self.news.append((end, being_cancelled()))


async def at_once() -> str:
    return "done"


async def for_ever() -> str:
    await asyncio.Event().wait()
    return "never"


async def fail() -> str:
    raise OSError("no")


async def in_spite_of_all() -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "late"
    return "never"


async def what_is_told(work: Callable[[], Coroutine[Any, Any, str]], *, begun: bool) -> list[tuple[str, bool]]:
    """Of work that is cancelled, after it has begun or before."""
    flight, told = InFlight[str](), Told()
    task = flight.begin(work, "cancelled", told.tell)
    if begun:
        await asyncio.sleep(0)
    task.cancel()
    await flight.close()
    return told.news


async def test_work_tells_what_it_came_to_in_its_own_task() -> None:
    flight, told = InFlight[str](), Told()
    await flight.begin(at_once, "cancelled", told.tell)
    assert told.news == [("done", False)]


async def test_cancelled_work_is_told_as_such_and_the_telling_is_not_cancelled() -> None:
    assert await what_is_told(for_ever, begun=True) == [("cancelled", False)]


async def test_work_that_was_cancelled_before_it_began_is_told_too() -> None:
    assert await what_is_told(for_ever, begun=False) == [("cancelled", False)]


async def test_what_work_says_in_spite_of_its_cancellation_is_told() -> None:
    assert await what_is_told(in_spite_of_all, begun=True) == [("late", False)]


async def test_the_end_waits_for_all_that_is_told_and_cancels_all_that_works() -> None:
    flight, told = InFlight[str](), Told()
    for work in (at_once, for_ever, for_ever):
        flight.begin(work, "cancelled", told.tell)
    kept = flight.keep(told.tell("kept"))
    await asyncio.sleep(0)
    await flight.close()
    assert (sorted(told.news), kept.done()) == (
        [("cancelled", False), ("cancelled", False), ("done", False), ("kept", False)],
        True,
    )


async def test_the_end_comes_where_all_is_done_and_nobody_has_noticed_yet() -> None:
    flight, told = InFlight[str](), Told()
    task = flight.begin(at_once, "cancelled", told.tell)
    while not task.done():  # noqa: ASYNC110  the turn of the loop in which it ends
        await asyncio.sleep(0)
    flight.keep(told.tell("kept"))
    await asyncio.wait_for(flight.close(), 10)
    assert told.news == [("done", False), ("kept", False)]


async def test_what_is_undisturbed_goes_on_when_nobody_waits_for_it_any_more() -> None:
    undisturbed, gate, done = Undisturbed[str](), asyncio.Event(), list[str]()

    async def work() -> str:
        await gate.wait()
        done.append("done")
        return "done"

    waiting = asyncio.create_task(undisturbed.done(work()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    asyncio.get_running_loop().call_soon(gate.set)
    await undisturbed.close()
    assert (done, waiting.cancelled()) == (["done"], True)


async def test_whoever_waits_for_what_is_undisturbed_is_told_what_it_comes_to() -> None:
    undisturbed = Undisturbed[str]()
    assert await undisturbed.done(at_once()) == "done"
    with pytest.raises(OSError, match="no"):
        await undisturbed.done(fail())


async def test_who_waits_for_what_ends_just_before_the_close_is_told_of_it_and_not_cut_off() -> None:
    undisturbed = Undisturbed[str]()
    closing: list[asyncio.Task[None]] = []

    async def close() -> None:
        await undisturbed.close()
        waiting.cancel()

    async def work() -> str:
        closing.append(asyncio.create_task(close()))  # begins in the next turn, before who waits goes on
        return "done"

    waiting = asyncio.create_task(undisturbed.done(work()))
    assert await waiting == "done"
    await asyncio.gather(*closing)


async def test_work_that_ends_with_the_daemon_ends_the_waiting_for_it() -> None:
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(Undisturbed[str]().done(for_ever()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it has begun
    for task in asyncio.all_tasks() - before - {waiting}:
        task.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
