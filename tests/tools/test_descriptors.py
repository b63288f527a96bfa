"""Watched descriptors, and waiting that no cancellation cuts short."""

import asyncio
import os

import pytest

from abey.runtime.tools.descriptors import Inlet, Outlet, completed


async def test_an_inlet_takes_what_comes_and_then_the_end() -> None:
    reading, writing = os.pipe()
    taken: list[bytes] = []
    ended = asyncio.Event()
    inlet = Inlet(reading, lambda data: taken.append(data) or (None if data else ended.set()))
    os.write(writing, b"some")
    os.close(writing)
    await ended.wait()
    inlet.close()
    assert taken == [b"some", b""]


async def test_the_number_of_a_closed_inlet_can_be_used_again_at_once() -> None:
    for _ in range(3):
        reading, writing = os.pipe()
        came = asyncio.Event()
        inlet = Inlet(reading, lambda data, came=came: came.set())
        os.write(writing, b"x")
        await came.wait()
        inlet.close()
        inlet.close()
        os.close(writing)


async def test_a_full_pipe_is_waited_for_until_it_takes_bytes_or_is_given_up() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while True:
        try:
            os.write(writing, bytes(4096))
        except BlockingIOError:
            break
    outlet = Outlet(writing)
    waiting = asyncio.ensure_future(outlet.writable())
    await asyncio.sleep(0)
    first = waiting.done()
    os.read(reading, 65_536)
    await waiting
    again = asyncio.ensure_future(outlet.writable())
    outlet.close()
    await again
    await outlet.writable()
    os.close(reading)
    os.close(writing)
    assert first is False


async def test_no_cancellation_cuts_short_what_is_completed() -> None:
    release = asyncio.Event()
    work = asyncio.ensure_future(release.wait())
    waiting = asyncio.ensure_future(completed(work))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    before = (work.done(), waiting.done())
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (before, work.result()) == ((False, False), True)


async def test_what_failed_is_raised() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await completed(asyncio.ensure_future(fails()))
