"""The clocks: the system's, and the two that tests use."""

import asyncio
import re

from abey.runtime.clock import ManualClock, SystemClock, VirtualClock


def test_the_system_clock_tells_utc_in_milliseconds_and_draws_32_bytes() -> None:
    clock = SystemClock()
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", clock.now())
    assert (len(clock.entropy()), clock.entropy() != clock.entropy()) == (32, True)


async def test_a_virtual_clock_jumps() -> None:
    clock = VirtualClock()
    await clock.sleep(3600.5)
    assert (clock.now(), clock.slept) == ("2026-01-01T01:00:00.500Z", [3600.5])


async def test_a_manual_clock_wakes_who_is_due() -> None:
    clock = ManualClock()
    short, long = (asyncio.ensure_future(clock.sleep(seconds)) for seconds in (1, 3))
    await asyncio.sleep(0)
    clock.advance(2)
    await short
    assert (long.done(), clock.now()) == (False, "2026-01-01T00:00:02.000Z")
    clock.advance(1)
    await long
