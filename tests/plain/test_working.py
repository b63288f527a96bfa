"""What takes long: its request is answered soon, and its end is told."""

import asyncio
import json
from typing import Any

import pytest
from lsprotocol import types as lsp
from support.raw_peer import until

from abey.daemon.editors.progress import Progresses
from abey.daemon.plain.telling import Errands
from abey.daemon.plain.working import Work, Working
from abey.errors import AbeyError, SessionBusy
from abey.protocol.base import Json
from abey.protocol.handshake import InitializationOptions
from abey.protocol.transcript import Client
from abey.rpc.peer import Peer


class Bench:
    """A client that hears; work that waits for its result, a cancel button, and documents that are settled."""

    def __init__(self, seconds: float) -> None:
        self.heard: list[Any] = []
        self.cancelled = self.settled = 0
        self.result: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.progresses = Progresses()
        self.errands = Errands()
        self.working = Working(self.progresses, self.errands, self._settle, seconds)
        client = Client(id="e", name="editor", kind="lsp")
        self.peer = Peer("p1", client, None, InitializationOptions(), self._hear)

    async def do(self, token: int | str | None) -> Json:
        work = Work("s1", "Step: x", self._cancel, self._standing)
        return await self.working.do(self.peer, token, work, self._work())

    @property
    def told(self) -> list[Any]:
        return [one["params"].get("message") or one["params"]["value"] for one in self.heard]

    def _hear(self, data: bytes) -> None:
        self.heard.append(json.loads(data))

    async def _settle(self, _: str) -> None:
        self.settled += 1

    async def _work(self) -> Json:
        return await self.result

    async def _cancel(self) -> None:
        self.cancelled += 1
        raise SessionBusy("it cannot be")

    async def _standing(self) -> Json:
        return "standing"


async def test_what_is_done_in_time_is_answered() -> None:
    bench = Bench(10)
    bench.result.set_result({"outcome": "done"})
    assert (await bench.do(None), bench.told, bench.settled) == ({"outcome": "done"}, [], 1)


async def test_what_fails_in_time_is_an_error() -> None:
    bench = Bench(10)
    bench.result.set_exception(AbeyError("no"))
    with pytest.raises(AbeyError):
        await bench.do(None)
    assert bench.settled == 1


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ({"outcome": "waiting"}, "Step: x has ended: waiting"),
        ({"session": {}}, "Step: x has ended"),
        (AbeyError("n\x1bo"), "Step: x failed: n\\x1bo"),
    ],
)
async def test_what_takes_longer_is_answered_with_how_things_stand_and_its_end_is_told(end: Any, message: str) -> None:
    bench = Bench(0)
    assert (await bench.do(None), bench.told) == ("standing", [])
    bench.result.set_exception(end) if isinstance(end, Exception) else bench.result.set_result(end)
    await until(lambda: bool(bench.told))
    assert bench.told == [message]


async def test_under_a_token_of_its_own_a_request_waits_and_says_how_it_goes() -> None:
    bench = Bench(0)
    request = asyncio.create_task(bench.do("t"))
    await asyncio.sleep(0)
    bench.result.set_result(1)
    assert await request == 1
    assert bench.told == [{"kind": "begin", "title": "Step: x", "cancellable": True}, {"kind": "end"}]


async def test_a_request_that_nobody_waits_for_ends_its_progress() -> None:
    bench = Bench(10)
    request = asyncio.create_task(bench.do("t"))
    await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert (bench.told[-1], bench.cancelled) == ({"kind": "end"}, 0)


async def test_the_cancel_button_does_what_it_says_and_a_failure_of_it_is_told() -> None:
    bench = Bench(10)
    request = asyncio.create_task(bench.do("t"))
    await asyncio.sleep(0)
    bench.progresses.cancelled(bench.peer, lsp.WorkDoneProgressCancelParams("t"))
    await until(lambda: len(bench.told) == 2)
    bench.result.set_result(1)
    assert (await request, bench.cancelled, bench.told[1]) == (1, 1, "Step: x is not cancelled: it cannot be")
