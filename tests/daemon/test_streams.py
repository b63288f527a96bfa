"""Answers on their way to clients: pieces that came within a moment go out together, each answer at its own time."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from support.simulation.loop import VirtualLoop

from abey.daemon.streams import Streams
from abey.runtime.ports import Delta

Sent = list[tuple[float, str, int, str]]
"""When, of which session, where in the answer, and what."""


class Told:
    """What was sent, in a loop whose time is the test's."""

    def __init__(self) -> None:
        self.sent: Sent = []
        self.streams = Streams(self._send, 1.0)

    def say(self, session_id: str, text: str, step_id: str = "step") -> None:
        self.streams.add(session_id, step_id, Delta("answer", text))

    def _send(self, session_id: str, event: dict[str, Any]) -> None:
        if session_id == "gone":
            raise ConnectionError
        self.sent.append((asyncio.get_running_loop().time(), session_id, event["offset"], event["text"]))


def within(story: Coroutine[Any, Any, Sent]) -> Sent:
    """What comes of it, long after its end."""
    loop = VirtualLoop(Random(0))
    sent: Sent = loop.finish(story, 60.0)
    loop.advance(lambda: False, 60.0)
    return [(round(at, 3), session_id, offset, text) for at, session_id, offset, text in sent]


def test_each_answer_is_told_of_a_moment_after_its_first_piece() -> None:
    async def story() -> Sent:
        told = Told()
        told.say("s1", "one ")
        await asyncio.sleep(0.4)
        told.say("s2", "two")
        told.say("s1", "three")
        await asyncio.sleep(0.8)
        told.say("s1", "!")
        return told.sent

    assert within(story()) == [(1.0, "s1", 0, "one three"), (1.4, "s2", 0, "two"), (2.2, "s1", 9, "!")]


def test_what_has_ended_is_not_told_and_keeps_nothing_else_waiting() -> None:
    async def story() -> Sent:
        told = Told()
        told.say("s1", "void")
        await asyncio.sleep(0.5)
        told.streams.end("s1")
        told.say("s1", "again", "next")
        return told.sent

    assert within(story()) == [(1.5, "s1", 0, "again")]


def test_a_piece_without_text_keeps_none_waiting() -> None:
    async def story() -> Sent:
        told = Told()
        told.say("s1", "")
        await asyncio.sleep(1.5)
        told.say("s1", "text")
        return told.sent

    assert within(story()) == [(2.5, "s1", 0, "text")]


def test_who_cannot_be_told_keeps_nobody_waiting() -> None:
    async def story() -> Sent:
        told = Told()
        told.say("gone", "one")
        told.say("s1", "two")
        return told.sent

    assert within(story()) == [(1.0, "s1", 0, "two")]
