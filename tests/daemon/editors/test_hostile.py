"""Whatever an editor sends, it is answered, and the next request is, too."""

import asyncio
import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.editing import Client, Editing, editing
from support.raw_peer import until

from abey.errors import InvalidState

A = "file:///src/a.echo"
DOCUMENT = {"uri": A, "version": 3}
PLACE = {"line": 0, "character": 1}
RANGE = {"start": PLACE, "end": {"line": 1, "character": 0}}
ITEM = {"uri": A, "languageId": "echo", "version": 1, "text": "one\ntwo"}
CHANGES = [{"text": "x\ny"}, {"text": "z", "range": RANGE, "rangeLength": 2}]
FOLDER = {"uri": "file:///src", "name": "src"}

REQUESTS: dict[str, Any] = {
    "textDocument/completion": {"textDocument": DOCUMENT, "position": PLACE, "context": {"triggerKind": 1}},
    "textDocument/hover": {"textDocument": DOCUMENT, "position": PLACE, "workDoneToken": 1},
    "textDocument/codeAction": {
        "textDocument": DOCUMENT,
        "range": RANGE,
        "context": {"diagnostics": [{"range": RANGE, "message": "m", "code": 1, "data": {"x": 1}}], "only": ["a"]},
    },
    "textDocument/codeLens": {"textDocument": DOCUMENT, "partialResultToken": "t"},
    "textDocument/documentSymbol": {"textDocument": DOCUMENT},
    "workspace/executeCommand": {"command": "abey.say", "arguments": [1, {"x": [None]}]},
}
NOTICES: dict[str, Any] = {
    "initialized": {},
    "textDocument/didOpen": {"textDocument": ITEM},
    "textDocument/didChange": {"textDocument": DOCUMENT, "contentChanges": CHANGES},
    "textDocument/didSave": {"textDocument": DOCUMENT, "text": "x"},
    "textDocument/didClose": {"textDocument": DOCUMENT},
    "workspace/didChangeWorkspaceFolders": {"event": {"added": [FOLDER], "removed": [FOLDER]}},
    "window/workDoneProgress/cancel": {"token": "t"},
}
JUNK: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1.5, 2**31, 2**63, 10**400, -(10**400), 1e308),
    *("", "x", "\ud83d", "\u202e\x00", "file:///%00", "untitled:1", "y" * 10_000),
    *([], {}, [[]], [None], {"": None}, {"uri": A}, {"line": -1}, [RANGE], {"jsonrpc": "2.0", "id": 1, "result": 1}),
)


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, itself first."""
    yield where
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*where, name))


def spoilt(value: Any, where: tuple[Any, ...], junk: Any) -> Any:
    """`value` with something else in that place, or with nothing there."""
    if not where:
        return junk
    copied = copy.deepcopy(value)
    holder = copied
    for name in where[:-1]:
        holder = holder[name]
    if junk is KeyError:
        del holder[where[-1]]
    else:
        holder[where[-1]] = junk
    return copied


def spoils(value: Any, chance: random.Random) -> Any:
    """One to three places spoilt."""
    for _ in range(chance.randint(1, 3)):
        where = chance.choice(list(places(value)))
        value = spoilt(value, where, chance.choice((*JUNK, KeyError) if where else JUNK))
    return value


async def say(*_: Any) -> Any:
    return None


async def still_works(client: Client) -> None:
    client.open("file:///src/b.echo", "well")
    assert await client.text("file:///src/b.echo") == "well"


@pytest.mark.parametrize("seed", range(8))
async def test_params_that_are_spoilt_are_answered_and_harm_nothing(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    stage = Editing(commands={"abey.say": say})
    async with editing(stage) as client:
        for number in range(150):
            if chance.random() < 0.3:
                client.open(A, "one\ntwo")
            method = chance.choice(list(NOTICES))
            client.peer.notify(method, spoils(NOTICES[method], chance))
            method = chance.choice(list(REQUESTS))
            client.peer.ask(number, method, spoils(REQUESTS[method], chance))
        answers: dict[Any, Any] = {}
        while len(answers) < 150:
            message = await client.peer.message()
            if "method" not in message:
                answers[message["id"]] = message.get("error", {"code": "result"})["code"]
        await still_works(client)
    assert (set(answers), set(answers.values()) <= {"result", -32602}) == (set(range(150)), True)
    assert "internal error" not in caplog.text


@pytest.mark.parametrize("method", [*REQUESTS, *NOTICES, "textDocument/willSave", "$/x", "a" * 100_000, "\x00", ""])
async def test_every_method_may_be_a_request_and_a_notification_before_and_after(method: str) -> None:
    async with editing(Editing(commands={"abey.say": say})) as client:
        params = REQUESTS.get(method, NOTICES.get(method))
        client.peer.notify(method, params)
        answer = await client.peer.reply(method, params)
        while answer.get("id") != "own":
            answer = await client.peer.message()
        await still_works(client)
    assert ("result" in answer) == (method in REQUESTS)
    assert method in REQUESTS or answer["error"]["code"] == -32601


async def test_a_document_that_grows_and_shrinks_and_a_client_that_vanishes_leave_nothing_behind() -> None:
    stage = Editing()
    async with editing(stage) as client:
        client.open(A, "")
        for version in range(2, 20):
            client.write(A, "é" * (10**6 * (version % 3)), version)
        client.peer.notify("textDocument/didChange", {"textDocument": DOCUMENT, "contentChanges": CHANGES * 500})
        assert (await client.text(A)).endswith("y")
        client.write(A, "é" * 10**6, 21)
        assert await client.text(A) == ""
        with pytest.raises(
            InvalidState, match=r"what is open is larger than 1048576 bytes, or was .*; shorten it, or save and"
        ):
            stage.desk.document(stage.joined[0], Path("/src/a.echo"))
        client.peer.writer.transport.abort()
        await client.end
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    assert stage.desk.document(stage.joined[0], Path("/src/a.echo")) is None
