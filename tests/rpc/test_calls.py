"""The requests of one client: they begin in order, and each ends by itself."""

import asyncio
from typing import Any

from abey.rpc.calls import Calls
from abey.rpc.faults import RequestCancelled


async def test_requests_that_come_at_once_begin_in_order() -> None:
    calls = Calls(256)
    began: list[int] = []
    ended: list[Any] = []

    async def work(number: int) -> bytes:
        began.append(number)
        return b"%d" % number

    for number in range(200):
        calls.start(number, work(number), ended.append)
    await calls.settle(10)
    assert (began, ended) == (list(range(200)), [b"%d" % number for number in range(200)])


async def test_one_that_is_cancelled_before_it_began_ends_all_the_same() -> None:
    calls = Calls(256)
    ended: list[Any] = []

    async def work(answer: bytes) -> bytes:
        return answer

    for number in range(4):
        calls.start(number, work(b"%d" % number), ended.append)
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
