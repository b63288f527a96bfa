"""The flow of the plan as an editor drives it: a stock LSP client on stdio, and bare frames on the socket."""

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from support.e2e import Place, calls, deferred, says
from support.e2e_lsp import ask, editor
from support.e2e_peer import Peer

SCRIPT = (calls(("bump", {}), ("sh", {"command": "echo hi"})), says("It is sunny."))
Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def flow(machine: Place, request: Ask) -> list[Any]:
    """State, outcome and calls after every request of the flow."""
    agent = machine.agent(script=SCRIPT, rules=[deferred("sh")])
    session = await request("agents/start", {"agentFile": str(agent), "prompt": "weather", "cwd": str(machine.work)})
    named = {"sessionId": session["sessionId"]}
    told: list[Any] = [session["state"]]
    for _ in range(3):
        step = await request("agents/step", named)
        told.append((step["outcome"], step["session"]["state"], step["session"]["revision"]))
    [call] = (await request("agents/pending", named))["items"]
    told.append((call["tool"], call["arguments"], call["kind"]))
    outcome = {"kind": "result", "content": {"temperature": 21}}
    done = await request("agents/complete", {"token": call["token"], "outcome": outcome})
    told.append((done["applied"], done["turnComplete"], done["session"]["state"]))
    step = await request("agents/step", named)
    told.append((step["outcome"], step["session"]["state"], step["session"]["output"]))
    items = (await request("agents/transcript", named))["items"]
    told.append([(item["kind"], item.get("call", {}).get("output")) for item in items])
    return told


TOLD = [
    "userTurn",
    ("advanced", "llmTurn", 4),
    ("advanced", "partialUserTurn", 9),
    ("waiting", "partialUserTurn", 9),
    ("sh", {"command": "echo hi"}, "approval"),
    (True, True, "userTurn"),
    ("completed", "completed", "It is sunny."),
    [("input", None), ("toolCall", "bumped\n"), ("toolCall", {"temperature": 21}), ("answer", None)],
]


@pytest.mark.parametrize("options", [("--stdio", "--standalone"), ("--stdio",)], ids=["standalone", "forwarder"])
async def test_a_stock_lsp_client_goes_through_the_flow(machine: Place, options: tuple[str, ...]) -> None:
    async with editor(machine, *options) as (client, _):
        told = await flow(machine, lambda method, params: ask(client, method, params))
    assert (told, machine.ran()) == (TOLD, 1)


async def test_the_handshake_tells_an_editor_what_it_can_do(machine: Place) -> None:
    async with editor(machine, "--stdio", "--standalone") as (_, result):
        pass
    agents: Any = result.capabilities.experimental
    assert isinstance(result.server_info, lsp.ServerInfo)
    assert (result.server_info.name, agents["agents"]["protocolVersion"]) == ("abey", "1.0")
    assert {"agents/start", "agents/step", "agents/pending", "agents/complete"} <= set(agents["agents"]["methods"])
    assert agents["agents"]["daemon"]["stateDir"] == str(machine.state)


async def test_an_error_reaches_an_editor_with_its_kind(machine: Place) -> None:
    async with editor(machine, "--stdio", "--standalone") as (client, _):
        with pytest.raises(JsonRpcException) as refused:
            await ask(client, "agents/step", {"sessionId": "nobody"})
    assert (refused.value.code, refused.value.data) == (
        -31001,
        {"kind": "session/unknown", "retryable": False, "sessionId": "nobody"},
    )


async def test_bare_frames_on_the_socket_go_through_the_flow(machine: Place) -> None:
    with machine.peer() as peer:

        async def request(method: str, params: dict[str, Any]) -> Any:
            return peer.request(method, **params)

        assert (await flow(machine, request), machine.ran()) == (TOLD, 1)


async def test_a_call_of_a_standalone_daemon_is_completed_from_a_shell(machine: Place) -> None:
    agent = machine.agent(script=[calls(("ext", {})), says("thanks")])
    start = {"agentFile": str(agent), "prompt": "x", "cwd": str(machine.work), "run": "turn"}
    async with editor(machine, "--stdio", "--standalone") as (client, result):
        session = await ask(client, "agents/start", start)
        [call] = session["pending"]
        machine.abey("session", "complete", call["token"], "--text", "from a shell")
        experimental: Any = result.capabilities.experimental
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(experimental["agents"]["daemon"]["socket"])
            other = Peer(connection)
            other.initialize("other", {})
            assert other.request("agents/get", sessionId=session["sessionId"])["session"]["state"] == "userTurn"
        run = await ask(client, "agents/run", {"sessionId": session["sessionId"]})
    assert (run["outcome"], run["session"]["output"]) == ("completed", "thanks")
