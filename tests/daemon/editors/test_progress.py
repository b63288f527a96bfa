"""`$/progress`: shown where the editor can, and never in the way."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from support.editing import Client, Editing, editing
from support.raw_peer import until

from abey.daemon.editors.progress import Progress
from abey.rpc.peer import Peer

ABLE = {"window": {"workDoneProgress": True}}
CREATE = {"jsonrpc": "2.0", "id": "s1", "method": "window/workDoneProgress/create", "params": {"token": "abey-1"}}


def told(token: Any, kind: str, **value: Any) -> dict[str, Any]:
    """A progress notification."""
    return {"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": {"kind": kind, **value}}}


class Working(Editing):
    """`abey.work` reports what is put into `steps` and ends with None."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: asyncio.Queue[str | None] = asyncio.Queue()
        self.begun: Progress | None = None
        self.cancelled = 0
        self.commands["abey.work"] = self.work

    async def work(self, peer: Peer, arguments: list[Any], token: Any) -> Any:
        async with self.progresses.under_way(peer, token, "Step", self.cancel) as self.begun:
            while (step := await self.steps.get()) is not None:
                if step == "boom":
                    raise ValueError(step)
                self.begun.report(step, 50)
        return "done"

    def cancel(self) -> None:
        self.cancelled += 1
        self.steps.put_nowait(None)

    def run(self, client: Client, **params: Any) -> None:
        client.peer.ask("work", "workspace/executeCommand", {"command": "abey.work", **params})


DONE = {"jsonrpc": "2.0", "id": "work", "result": "done"}


@pytest.fixture
def stage() -> Iterator[Working]:
    yield Working()


@pytest.mark.parametrize("token", ["t", 7, ""])
async def test_the_token_of_the_request_is_used(stage: Working, token: Any) -> None:
    async with editing(stage) as client:
        stage.run(client, workDoneToken=token)
        for step in ("half", None):
            stage.steps.put_nowait(step)
        heard = [await client.peer.message() for _ in range(4)]
    assert heard == [
        told(token, "begin", title="Step", cancellable=True),
        told(token, "report", message="half", percentage=50),
        told(token, "end"),
        DONE,
    ]


async def test_without_a_token_the_editor_is_asked_to_show_one(stage: Working) -> None:
    async with editing(stage, ABLE) as client:
        stage.run(client)
        assert await client.peer.message() == CREATE
        client.peer.send({"jsonrpc": "2.0", "id": "s1", "result": None})
        assert await client.peer.message() == told("abey-1", "begin", title="Step", cancellable=True)
        for step in ("half", None):
            stage.steps.put_nowait(step)
        heard = [await client.peer.message() for _ in range(3)]
    assert heard == [told("abey-1", "report", message="half", percentage=50), told("abey-1", "end"), DONE]


async def test_an_editor_that_cannot_show_progress_hears_none(stage: Working) -> None:
    async with editing(stage) as client:
        stage.run(client)
        for step in ("half", None):
            stage.steps.put_nowait(step)
        assert await client.peer.message() == DONE


async def test_work_does_not_wait_for_the_editor_and_is_not_shown_when_it_is_over(stage: Working) -> None:
    async with editing(stage, ABLE) as client:
        stage.run(client)
        assert await client.peer.message() == CREATE
        stage.steps.put_nowait(None)
        withdrawn = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "s1"}}
        assert sorted([await client.peer.message() for _ in range(2)], key=str) == sorted([DONE, withdrawn], key=str)
        client.peer.send({"jsonrpc": "2.0", "id": "s1", "result": None})
        assert (await client.peer.reply("agents/echo", {"value": 1}))["result"] == {"value": 1}


async def test_what_was_reported_before_the_editor_was_ready_is_how_it_begins(stage: Working) -> None:
    async with editing(stage, ABLE) as client:
        stage.run(client)
        assert await client.peer.message() == CREATE
        stage.steps.put_nowait("half")
        await until(stage.steps.empty)
        client.peer.send({"jsonrpc": "2.0", "id": "s1", "result": None})
        begin = told("abey-1", "begin", title="Step", cancellable=True, message="half", percentage=50)
        assert await client.peer.message() == begin
        stage.steps.put_nowait(None)
        assert [await client.peer.message() for _ in range(2)] == [told("abey-1", "end"), DONE]


async def test_an_editor_that_refuses_to_show_it_hears_no_more_of_it(stage: Working) -> None:
    async with editing(stage, ABLE) as client:
        stage.run(client)
        assert await client.peer.message() == CREATE
        client.peer.send({"jsonrpc": "2.0", "id": "s1", "error": {"code": -32601, "message": "no"}})
        assert (await client.peer.reply("textDocument/hover", HOVER))["result"] is None
        for step in ("half", None):
            stage.steps.put_nowait(step)
        assert await client.peer.message() == DONE


async def test_the_cancel_button_is_heard_once(stage: Working) -> None:
    async with editing(stage) as client, editing(stage) as other:
        stage.run(client, workDoneToken="t")
        assert await client.peer.message() == told("t", "begin", title="Step", cancellable=True)
        for token in ("nope", 7, None, ["t"]):
            client.peer.notify("window/workDoneProgress/cancel", {"token": token})
        other.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
        assert (await other.peer.reply("textDocument/hover", HOVER))["result"] is None
        assert stage.cancelled == 0
        for _ in range(2):
            client.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
        assert [await client.peer.message() for _ in range(2)] == [told("t", "end"), DONE]
        client.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
        assert (await client.peer.reply("textDocument/hover", HOVER))["result"] is None
    assert stage.cancelled == 1


async def test_work_that_fails_or_is_cancelled_ends_its_progress(stage: Working) -> None:
    async with editing(stage) as client:
        stage.run(client, workDoneToken="t")
        assert await client.peer.message() == told("t", "begin", title="Step", cancellable=True)
        stage.steps.put_nowait("boom")
        failed = [await client.peer.message() for _ in range(2)]
        stage.run(client, workDoneToken="t")
        assert await client.peer.message() == told("t", "begin", title="Step", cancellable=True)
        client.peer.notify("$/cancelRequest", {"id": "work"})
        cancelled = [await client.peer.message() for _ in range(2)]
    assert [(heard[0], heard[1]["error"]["code"]) for heard in (failed, cancelled)] == [
        (told("t", "end"), -32603),
        (told("t", "end"), -32800),
    ]


async def test_what_is_reported_after_the_end_is_not_sent(stage: Working) -> None:
    async with editing(stage) as client:
        stage.run(client, workDoneToken="t")
        assert await client.peer.message() == told("t", "begin", title="Step", cancellable=True)
        stage.steps.put_nowait(None)
        assert [await client.peer.message() for _ in range(2)] == [told("t", "end"), DONE]
        assert stage.begun is not None
        stage.begun.end()
        stage.begun.report("late")
        assert (await client.peer.reply("textDocument/hover", HOVER))["result"] is None


HOVER = {"textDocument": {"uri": "file:///nowhere.echo"}, "position": {"line": 0, "character": 0}}
