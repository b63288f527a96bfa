"""`workspace/executeCommand`."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from support.editing import Editing, editing

from abey.errors import InvalidState
from abey.protocol.base import Json
from abey.rpc.peer import Peer

A = "file:///src/a.echo"
COMMAND = "workspace/executeCommand"


async def say(peer: Peer, arguments: list[Json], token: Json) -> Json:
    return [peer.client.name, arguments, token]


async def refuse(peer: Peer, arguments: list[Json], token: Json) -> Json:
    raise InvalidState("it has ended", state="completed")


@pytest.mark.parametrize(
    "arguments", [[], [1, None, {"class": {"_x": [None]}, "jsonrpc": "2.0"}], ["é\ud83d", [[]], True, 1.5]]
)
async def test_a_command_gets_its_arguments_unchanged(arguments: list[Json]) -> None:
    params = {"command": "abey.say", "arguments": arguments, "workDoneToken": "t"}
    async with editing(Editing(commands={"abey.say": say}), clientInfo={"name": "vi"}) as client:
        answer = await client.peer.reply(COMMAND, params)
    assert answer["result"] == ["vi", arguments, "t"]


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}])
async def test_arguments_that_are_absent_are_none(arguments: dict[str, Any]) -> None:
    async with editing(Editing(commands={"abey.say": say}), plain=False) as client:
        answer = await client.peer.reply(COMMAND, {"command": "abey.say", **arguments})
    assert answer["result"] == ["raw", [], None]


async def test_a_command_that_is_not_there_is_told_which_are() -> None:
    async with editing(Editing(commands={"abey.say": say, "abey.go": refuse})) as client:
        answer = await client.peer.reply(COMMAND, {"command": "abey.sa\ny" + "x" * 1000})
    message = f"there is no command {'abey.sa' + chr(10) + 'y' + 'x' * 91!a}; there are: abey.go, abey.say"
    errors = [{"loc": ["command"], "msg": message, "type": "unknown_command"}]
    data = {"kind": "invalid-params", "retryable": False, "errors": errors}
    assert answer["error"] == {"code": -32602, "message": message, "data": data}


@pytest.mark.parametrize(
    "params", [None, {}, {"command": 7}, {"command": "abey.say", "arguments": {"a": 1}}, {"command": None}, []]
)
async def test_params_that_are_none_are_refused(params: Any) -> None:
    async with editing(Editing(commands={"abey.say": say})) as client:
        assert (await client.peer.reply(COMMAND, params))["error"]["code"] == -32602


async def test_the_failure_of_a_command_has_its_kind() -> None:
    async with editing(Editing(commands={"abey.refuse": refuse})) as client:
        answer = await client.peer.reply(COMMAND, {"command": "abey.refuse"})
    data = {"kind": "state/invalid", "retryable": False, "state": "completed"}
    assert answer["error"] == {"code": -31008, "message": "it has ended", "data": data}


async def test_a_command_can_act_on_the_text_of_the_moment_in_which_it_was_given() -> None:
    stage = Editing()

    async def give(text: str) -> Json:
        return text

    def read(peer: Peer, arguments: list[Json], token: Json) -> Coroutine[Any, Any, Json]:
        document = stage.desk.document(peer, Path("/src/a.echo"))
        assert document is not None
        return give(document.text.source)

    stage.commands["abey.read"] = read
    async with editing(stage) as client:
        client.open(A, "seen")
        change = {"textDocument": {"uri": A, "version": 2}, "contentChanges": [{"text": "typed later"}]}
        client.peer.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": COMMAND, "params": {"command": "abey.read"}},
                {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": change},
                {"jsonrpc": "2.0", "id": 2, "method": COMMAND, "params": {"command": "abey.read"}},
            ]
        )
        answers = await client.peer.message()
    assert [answer["result"] for answer in answers] == ["seen", "typed later"]
