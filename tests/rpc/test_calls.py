"""The requests of one client: in order, each in a turn of the loop of its own, so that others come in between."""

import asyncio
from typing import Any

from abey.rpc.calls import Calls
from abey.rpc.faults import RequestCancelled


class Turns:
    """Counts the turns of the loop."""

    def __init__(self) -> None:
        self.count = 0
        self._tick()

    def _tick(self) -> None:
        self.count += 1
        self._next = asyncio.get_running_loop().call_soon(self._tick)

    def stop(self) -> None:
        self._next.cancel()


async def test_requests_that_come_at_once_begin_in_order_and_one_in_a_turn() -> None:
    calls, turns = Calls(256), Turns()
    began: list[tuple[int, int]] = []
    ended: list[Any] = []

    async def work(number: int) -> bytes:
        began.append((number, turns.count))
        return b"%d" % number

    for number in range(200):
        calls.start(number, work(number), ended.append)
    await calls.settle(10)
    turns.stop()
    assert [number for number, _ in began] == list(range(200))
    assert len({turn for _, turn in began}) == 200
    assert ended == [b"%d" % number for number in range(200)]


async def test_one_that_is_cancelled_before_its_turn_lets_the_next_one_go() -> None:
    calls = Calls(256)
    ended: list[Any] = []

    async def work(answer: bytes) -> bytes:
        return answer

    for number in range(4):
        calls.start(number, work(b"%d" % number), ended.append)
    await asyncio.sleep(0)
    calls.cancel(1)
    calls.cancel(2)
    await calls.settle(10)
    answers = [one for one in ended if isinstance(one, bytes)]
    assert (answers, [type(one) for one in ended if one not in answers]) == ([b"0", b"3"], [RequestCancelled] * 2)


async def test_one_that_takes_long_keeps_no_other_from_beginning() -> None:
    calls, release = Calls(256), asyncio.Event()
    ended: list[Any] = []

    async def long() -> bytes:
        await release.wait()
        return b"long"

    async def short() -> bytes:
        return b"short"

    calls.start(1, long(), ended.append)
    calls.start(2, short(), ended.append)
    await calls.settle(0.05)
    assert ended == [b"short"]
    release.set()
    await calls.settle(10)
    assert ended == [b"short", b"long"]
