"""News of running tools on their way to clients: a few at a time, never more than a person could read."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.stories import dispatched

from abey.daemon.tool_streams import RATE, ToolStreams
from abey.runtime.ports import Progress


class Told:
    """What was sent, at times that the test says."""

    def __init__(self) -> None:
        self.time = 0.0
        self.texts: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.streams = ToolStreams(
            lambda _, event: self.texts.append(event),
            lambda _, event: self.messages.append(event),
            0.0,
            lambda: self.time,
        )

    def add(self, text: str | None = None, **more: Any) -> None:
        self.streams.add("s1", "c1", Progress(text=text, **more))

    async def flushed(self) -> None:
        """Whatever is due has gone out."""
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.001, done.set_result, None)
        await done


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    yield Told()


def piece(offset: int, text: str) -> dict[str, Any]:
    return {"type": "tool/progress", "callId": "c1", "offset": offset, "text": text}


async def test_pieces_that_come_together_go_together(told: Told) -> None:
    for text in ("one ", "two ", "three"):
        told.add(text)
    await told.flushed()
    told.add(" four")
    await told.flushed()
    assert told.texts == [piece(0, "one two three"), piece(13, " four")]


async def test_only_the_latest_of_many_messages_is_told(told: Told) -> None:
    for done in range(1000):
        told.add(message=f"step {done}", done=done, total=1000)
    await told.flushed()
    told.add(done=1000.0)
    await told.flushed()
    assert told.messages == [
        {"type": "tool/progress", "callId": "c1", "message": "step 999", "progress": 999, "total": 1000},
        {"type": "tool/progress", "callId": "c1", "progress": 1000.0},
    ]
    assert told.texts == []


async def test_of_a_flood_the_end_is_told_and_the_offset_shows_the_gap(told: Told) -> None:
    for number in range(40):
        told.add(str(number % 10) * RATE)
    await told.flushed()
    told.add("more")
    await told.flushed()
    told.time = 0.5
    told.add("y" * RATE)
    await told.flushed()
    size = 40 * RATE + 4
    half = RATE // 2
    assert told.texts == [piece(39 * RATE, "9" * RATE), piece(size + half, "y" * half)]


async def test_a_call_that_floods_for_a_minute_is_told_in_constant_memory(told: Told) -> None:
    for tick in range(1200):
        told.time = tick * 0.05
        for _ in range(4):
            told.add("z" * 65_536)
        await told.flushed()
    sent = sum(len(event["text"]) for event in told.texts)
    assert sent <= 61 * RATE


async def test_what_was_not_told_of_a_call_that_has_ended_is_not_told(told: Told) -> None:
    told.add("late")
    told.streams.changed(dispatched().session)
    told.streams.add("s2", "c1", Progress(text="later"))
    told.streams.gone("s2")
    await told.flushed()
    assert (told.texts, told.messages) == ([], [])
