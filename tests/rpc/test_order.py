"""What a client hears before an answer, and what only after it."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from support.raw_peer import Echo, EchoParams, Stage, greeted

from abey.rpc.peer import Peer


@dataclass
class Telling(Stage):
    """Has something to tell before every answer; a request to echo makes something happen a moment later."""

    def settle(self, peer: Peer) -> None:
        peer.notify("before", {})

    async def echo(self, peer: Peer, params: EchoParams) -> Echo:
        asyncio.get_running_loop().call_soon(peer.notify, "later", {})
        return Echo(value=params.value)


async def heard(method: str, count: int) -> list[Any]:
    """The methods of what comes, an answer as its kind."""
    async with greeted(Telling()) as link:
        link.peer.ask(1, method, {})
        messages = [await link.peer.message() for _ in range(count)]
    shown = [message or {} for message in messages]
    return [message.get("method") or next(kind for kind in ("result", "error") if kind in message) for message in shown]


async def test_what_happens_after_a_handler_has_returned_is_told_after_its_answer() -> None:
    assert await heard("agents/echo", 3) == ["before", "result", "later"]


@pytest.mark.parametrize("method", ["agents/miss", "agents/boom"])
async def test_what_there_is_to_tell_is_told_before_an_error_too(method: str) -> None:
    assert await heard(method, 2) == ["before", "error"]


async def test_what_there_is_to_tell_is_told_before_the_end_of_a_dialogue_is_answered() -> None:
    assert await heard("shutdown", 2) == ["before", "result"]
