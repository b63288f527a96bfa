"""`initialize`: a standard LSP answer for every editor, our protocol for those that know it."""

from typing import Any

import pytest
from support.raw_peer import Stage, connected

from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions, UiCapabilities
from abey.protocol.transcript import Client
from abey.rpc.connection import LIMITS
from abey.shared.version import VERSION

OURS = {
    "protocolVersion": "1.0",
    "methods": ["agents/echo"],
    "features": [],
    "limits": LIMITS.wire(),
    "daemon": {
        "pid": 1,
        "buildId": "b",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "stateDir": "/state",
        "socket": "/s",
    },
    "schemaHash": "0" * 64,
}


def with_agents(agents: Any, **more: Any) -> dict[str, Any]:
    return {"processId": None, "rootUri": None, "capabilities": {"experimental": {"agents": agents}}, **more}


async def answer_to(params: Any) -> tuple[Any, Stage]:
    stage = Stage()
    async with connected(stage) as link:
        return await link.peer.initialize(params), stage


async def test_the_answer_is_a_standard_initialize_result_with_our_capabilities_in_it() -> None:
    answer, _ = await answer_to(with_agents({"protocolVersions": ["1.0"]}))
    assert answer["result"] == {
        "capabilities": {"positionEncoding": "utf-16", "textDocumentSync": 0, "experimental": {"agents": OURS}},
        "serverInfo": {"name": "abey", "version": VERSION},
    }


async def test_a_client_that_knows_agents_is_known_by_what_it_says() -> None:
    ui = {"approvals": True, "editArguments": True, "diffs": False, "holograms": True}
    agents = {"protocolVersions": ["1.3"], "clientId": "v-1", "name": "VS Code", "kind": "vscode", "ui": ui, "new": 1}
    options = {"workspaceTrusted": True, "env": {"KEY": "canary"}, "future": {}}
    _, stage = await answer_to(with_agents(agents, initializationOptions=options, clientInfo={"name": "other"}))
    [peer] = stage.joined
    assert (peer.client, peer.capabilities, peer.options) == (
        Client(id="v-1", name="VS Code", kind="vscode"),
        AgentsClientCapabilities(
            protocol_versions=("1.3",),
            client_id="v-1",
            name="VS Code",
            kind="vscode",
            ui=UiCapabilities(approvals=True, edit_arguments=True, diffs=False),
        ),
        InitializationOptions(workspace_trusted=True, env={"KEY": "canary"}),
    )
    assert "canary" not in repr(peer)


@pytest.mark.parametrize(
    ("params", "client"),
    [
        ({"capabilities": {}, "clientInfo": {"name": "Neovim", "version": "0.10"}}, ("Neovim", "lsp")),
        ({"capabilities": {"experimental": None}, "initializationOptions": []}, ("editor", "lsp")),
        ({"capabilities": {"experimental": [1]}, "clientInfo": {"name": 7}}, ("editor", "lsp")),
        (with_agents({"protocolVersions": ["1.0"]}, clientInfo={"name": "script"}), ("script", "rpc")),
        ({}, ("editor", "lsp")),
    ],
)
async def test_a_client_that_says_little_is_welcome(params: Any, client: tuple[str, str]) -> None:
    answer, stage = await answer_to(params)
    [peer] = stage.joined
    assert ("result" in answer, peer.client) == (True, Client(id=peer.id, name=client[0], kind=client[1]))


async def test_capabilities_that_lsp_does_not_know_are_no_reason_to_fail() -> None:
    general = {"positionEncodings": ["utf-8"]}
    odd, _ = await answer_to({"capabilities": {"general": general, "textDocument": {"completion": 7}, "x": {"y": 1}}})
    plain, _ = await answer_to({"capabilities": {"general": general, "x": {"y": 1}}})
    encodings = [answer["result"]["capabilities"]["positionEncoding"] for answer in (odd, plain)]
    assert encodings == ["utf-8", "utf-8"]


@pytest.mark.parametrize("versions", [["2.0"], ["0.9", "10.0"], []])
async def test_a_client_of_another_major_version_is_told_what_is_spoken(versions: list[str]) -> None:
    answer, stage = await answer_to(with_agents({"protocolVersions": versions}))
    assert (answer["error"]["code"], answer["error"]["data"], stage.joined) == (
        -31013,
        {"kind": "protocol/unsupported", "retryable": False, "supported": ["1.0"]},
        [],
    )


@pytest.mark.parametrize(
    ("params", "location"),
    [
        ([1], ["params"]),
        ({"capabilities": "x"}, ["capabilities"]),
        (with_agents({}), ["protocolVersions"]),
        (with_agents([]), []),
        (with_agents({"protocolVersions": ["1.0"]}, initializationOptions={"env": {"A": 1}}), ["env", "A"]),
    ],
)
async def test_what_is_wrong_in_initialize_is_named(params: Any, location: list[str]) -> None:
    answer, stage = await answer_to(params)
    [found] = answer["error"]["data"]["errors"]
    assert (answer["error"]["code"], found["loc"], stage.joined) == (-32602, location, [])


async def test_a_client_may_try_initialize_again() -> None:
    async with connected(Stage()) as link:
        await link.peer.initialize(with_agents({"protocolVersions": ["2.0"]}))
        assert "result" in await link.peer.initialize(with_agents({"protocolVersions": ["1.0"]}))


def test_limits_are_those_of_the_protocol() -> None:
    assert tuple(LIMITS.model_dump().values()) == (16 << 20, 8 << 10, 100, 64, 256)
