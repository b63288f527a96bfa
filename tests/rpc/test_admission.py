"""A door with a token: nothing is answered before it, and whoever has not got it is hung up on."""

import asyncio
import logging
from typing import Any

import pytest
from support.raw_peer import INITIALIZE, Stage, connected

from abey.rpc.admission import OPEN, Admission
from abey.rpc.framing import frame

TOKEN = "5c" * 32
DOOR = Admission(token=TOKEN.encode(), seconds=30.0)
DENIED = {
    "code": -31014,
    "message": "initializationOptions.token is not the token of this daemon",
    "data": {"kind": "permission/denied", "retryable": False},
}


def with_token(token: Any) -> dict[str, Any]:
    return {**INITIALIZE, "initializationOptions": {"token": token}}


async def test_the_token_opens_the_door() -> None:
    stage = Stage()
    async with connected(stage, admission=DOOR) as link:
        assert "result" in await link.peer.initialize(with_token(TOKEN))
        answer = await link.peer.reply("agents/echo", {"value": 1})
    assert (answer["result"], len(stage.joined)) == ({"value": 1}, 1)
    assert TOKEN not in repr(stage.joined[0])


@pytest.mark.parametrize(
    "params",
    [
        INITIALIZE,
        {},
        None,
        [],
        with_token(None),
        with_token(""),
        with_token(TOKEN[:-1]),
        with_token(f"{TOKEN}0"),
        with_token(TOKEN.upper()),
        with_token([TOKEN]),
        with_token(5),
        with_token("\ud83d"),
        {**INITIALIZE, "initializationOptions": [TOKEN]},
        {**INITIALIZE, "initializationOptions": TOKEN},
    ],
)
async def test_another_token_or_none_is_an_error_and_the_end(params: Any, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    async with connected(stage, admission=DOOR) as link:
        link.peer.ask(1, "initialize", params)
        link.peer.ask(2, "initialize", with_token(TOKEN))
        told = [await link.peer.message(), await link.peer.message()]
        assert (told, await link.end, stage.joined) == ([{"jsonrpc": "2.0", "id": 1, "error": DENIED}, None], 1, [])
    assert "closed: its token is wrong or missing" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    "before",
    [
        frame(b'{"jsonrpc":"2.0","id":1,"method":"agents/echo"}'),
        frame(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}'),
        frame(b'{"jsonrpc":"2.0","method":"textDocument/didOpen"}'),
        frame(b'{"jsonrpc":"2.0","id":"s1","result":1}'),
        frame(b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]'),
        frame(b"[]"),
        frame(b"17"),
        frame(b"{"),
        frame(b"[" * 100_000),
        b"Content-Length: nonsense\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Length: 2\r\nOrigin: http://evil\r\n\r\n{}",
    ],
)
async def test_whatever_comes_before_the_token_is_hung_up_on_without_a_word(
    before: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage()
    async with connected(stage, admission=DOOR) as link:
        link.peer.raw(before)
        link.peer.ask(2, "initialize", with_token(TOKEN))
        assert (await link.peer.message(), await link.end, stage.joined) == (None, 1, [])
    assert "closed: " in caplog.text


async def test_who_has_the_token_may_get_the_rest_of_initialize_wrong_once() -> None:
    wrong = {**with_token(TOKEN), "capabilities": {"experimental": {"agents": {"protocolVersions": ["2.0"]}}}}
    async with connected(Stage(), admission=DOOR) as link:
        refused = await link.peer.reply("initialize", wrong)
        assert "result" in await link.peer.initialize(with_token(TOKEN))
    assert refused["error"]["data"]["kind"] == "protocol/unsupported"


@pytest.mark.parametrize("said", [b"", b"Content-Le", b"Content-Length: 5\r\n\r\n{", frame(b'{"jsonrpc":"2.0"')[:-4]])
async def test_who_says_nothing_valid_in_time_is_hung_up_on(said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    async with connected(stage, admission=Admission(TOKEN.encode(), seconds=0.05)) as link:
        link.peer.raw(said)
        assert (await link.peer.message(), await link.end) == (None, 1)
    assert "no initialize within 0.05 s" in caplog.text


async def test_who_came_in_may_be_silent_for_as_long_as_it_likes() -> None:
    async with connected(Stage(), admission=Admission(TOKEN.encode(), seconds=1.0)) as link:
        await link.peer.initialize(with_token(TOKEN))
        done, _ = await asyncio.wait([link.end], timeout=1.2)
        assert (done, await link.peer.reply("agents/echo", {"value": 1})) == (
            set(),
            {"jsonrpc": "2.0", "id": "own", "result": {"value": 1}},
        )


async def test_an_open_door_asks_for_no_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with connected(Stage()) as link:
        assert "result" in await link.peer.initialize(with_token("anything"))
    assert (OPEN.admits(None), caplog.text) == (True, "")
