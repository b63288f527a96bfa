"""A stock LSP client (pygls, pytest-lsp) that speaks our methods as plain JSON."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lsprotocol import types as lsp
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage, default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from support.e2e import PROGRAMS, Place

PATIENCE = 30


async def ask(client: LanguageClient, method: str, params: dict[str, Any]) -> Any:
    """The result of a request of ours, as plain JSON. Raises pygls' JsonRpcException."""
    protocol: Any = client.protocol
    async with asyncio.timeout(PATIENCE):
        return await protocol.send_request_async(method, params)


@asynccontextmanager
async def editor(place: Place, *options: str) -> AsyncIterator[tuple[LanguageClient, lsp.InitializeResult]]:
    """An editor that has started `abey-daemon` with these options and ends it properly."""
    config = ClientServerConfig(
        server_command=[str(PROGRAMS / "abey-daemon"), *options], server_env=place.env, client_factory=_client
    )
    client = await config.start()
    assert isinstance(client, LanguageClient)
    agents = {"protocolVersions": ["1.0"], "clientId": "editor-1", "name": "editor", "kind": "lsp"}
    capabilities = lsp.ClientCapabilities(experimental={"agents": agents})
    async with asyncio.timeout(PATIENCE):
        result = await client.initialize_session(
            lsp.InitializeParams(capabilities=capabilities, root_uri=place.work.as_uri())
        )
        yield client, result
        await client.shutdown_session()


def _client() -> LanguageClient:
    client = LanguageClient(converter_factory=_converter)
    hears: Any = client.feature("agents/summary")
    hears(_drop)
    return client


def _drop(params: Any) -> None:
    """Without a handler pygls warns of a notification."""


def _converter() -> Any:
    """Messages of ours stay what json.loads made of them."""
    make: Any = default_converter
    converter = make()
    for kind in (JsonRPCRequestMessage, JsonRPCNotification):
        converter.register_structure_hook(kind, lambda value, cls: cls(**{"params": None, **value}))
    converter.register_structure_hook(JsonRPCResponseMessage, lambda value, cls: cls(**value))
    return converter
