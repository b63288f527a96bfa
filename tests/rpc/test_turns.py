"""What one client sends at once: taken in order, one message in a turn of the loop, so that others come in between."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.raw_peer import Echo, EchoParams, Link, Message, Stage, greeted

from abey.rpc.framing import frame
from abey.rpc.peer import Peer


class Turns(Stage):
    """Counts the turns of the loop; `began` are the values that were asked for, each with its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.began: list[tuple[Any, int]] = []
        self.count = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        def tick() -> None:
            nonlocal handle
            self.count += 1
            handle = loop.call_soon(tick)

        loop = asyncio.get_running_loop()
        handle = loop.call_soon(tick)
        yield
        handle.cancel()

    def now(self, peer: Peer, params: EchoParams) -> Echo:
        self.began.append((params.value, self.count))
        return super().now(peer, params)

    async def echo(self, peer: Peer, params: EchoParams) -> Echo:
        return self.now(peer, params)


def asked(method: str, count: int) -> list[Message]:
    return [{"jsonrpc": "2.0", "id": n, "method": method, "params": {"value": n}} for n in range(count)]


def framed(message: Any) -> bytes:
    return frame(json.dumps(message).encode())


async def replies(link: Link, count: int) -> list[Any]:
    return [await link.peer.message() for _ in range(count)]


@pytest.mark.parametrize("method", ["agents/echo", "agents/now"])
async def test_messages_that_come_at_once_are_taken_in_order_and_one_in_a_turn(method: str) -> None:
    stage = Turns()
    async with greeted(stage) as link:
        with stage.counted():
            link.peer.raw(b"".join(map(framed, asked(method, 200))))
            answers = await replies(link, 200)
    assert [answer["result"]["value"] for answer in answers] == list(range(200))
    assert [value for value, _ in stage.began] == list(range(200))
    assert len({turn for _, turn in stage.began}) == 200


@pytest.mark.parametrize("method", ["agents/echo", "agents/now"])
async def test_so_are_those_of_a_batch(method: str) -> None:
    stage = Turns()
    async with greeted(stage) as link:
        with stage.counted():
            link.peer.raw(framed(asked(method, 200)) + framed(asked(method, 1)[0]))
            batch, after = await replies(link, 2)
    assert [answer["result"]["value"] for answer in batch] == list(range(200))
    assert (after["id"], [value for value, _ in stage.began]) == (0, [*range(200), 0])
    assert len({turn for _, turn in stage.began}) == 201


async def test_requests_of_both_kinds_begin_in_order() -> None:
    stage = Turns()
    asked_for = [
        {"jsonrpc": "2.0", "id": n, "method": ("agents/echo", "agents/now")[n % 2], "params": {"value": n}}
        for n in range(100)
    ]
    async with greeted(stage) as link:
        link.peer.raw(b"".join(map(framed, asked_for)))
        await replies(link, 100)
    assert [value for value, _ in stage.began] == list(range(100))


async def test_what_waits_for_nothing_is_answered_without_a_task_and_in_the_turn_in_which_it_came() -> None:
    made: list[Any] = []

    def counting(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **more)

    stage = Stage()
    async with greeted(stage) as link:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(counting)
        answer = await link.peer.reply("agents/now", {"value": 1})
        tasks = list(made)
        await link.peer.reply("agents/echo", {"value": 2})
        loop.set_task_factory(None)
    assert (answer["result"], tasks, len(made)) == ({"value": 1}, [], 1)


async def test_a_failure_of_what_waits_for_nothing_is_answered_like_any_other() -> None:
    class Failing(Stage):
        def now(self, peer: Peer, params: EchoParams) -> Echo:
            raise ValueError("secret in /home/somebody")

    async with greeted(Failing()) as link:
        wrong = await link.peer.reply("agents/now", {"bogus": 1})
        failed = await link.peer.reply("agents/now", {})
    assert (wrong["error"]["code"], failed["error"]["code"], failed["error"]["message"]) == (
        -32602,
        -32603,
        "internal error",
    )


async def test_nothing_more_is_read_of_a_client_that_sends_faster_than_it_is_served() -> None:
    stage = Turns()
    async with greeted(stage) as link:
        link.peer.raw(framed(asked("agents/now", 1)[0]) * 100_000)
        for _ in range(1000):
            await asyncio.sleep(0)
        kept_back = link.peer.writer.transport.get_write_buffer_size()
        link.peer.writer.transport.abort()
    assert kept_back > 5_000_000
    assert len(stage.began) <= 1100
