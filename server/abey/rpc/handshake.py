"""`initialize`: who the client is, and a standard LSP answer with our capabilities in it."""

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cattrs import Converter
from lsprotocol import types as lsp
from pydantic import ValidationError
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.protocol import default_converter

from abey.errors import UnsupportedProtocol
from abey.protocol.base import Json, Wire
from abey.protocol.handshake import (
    PROTOCOL_VERSION,
    AgentsClientCapabilities,
    AgentsServerCapabilities,
    InitializationOptions,
)
from abey.rpc.faults import InvalidParams, invalid_params
from abey.shared.version import VERSION

log = logging.getLogger(__name__)

W = TypeVar("W", bound=Wire)

PLAIN_KIND = "lsp"
"""The kind of a client that knows nothing of agents."""
OWN_KIND = "rpc"
"""The kind of a client that speaks our protocol and does not say what it is."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a client says of itself; `capabilities` is None for a plain LSP client."""

    client_id: str | None
    name: str
    kind: str
    capabilities: AgentsClientCapabilities | None
    options: InitializationOptions = field(repr=False)


def greeting(params: Json) -> Greeting:
    """Reads the params of `initialize`. Raises InvalidParams, UnsupportedProtocol."""
    members = _object(params, "params")
    capabilities = _agents(_object(members.get("capabilities"), "capabilities"))
    if capabilities and not any(_speaks(version) for version in capabilities.protocol_versions):
        asked = ", ".join(capabilities.protocol_versions) or "no protocol at all"
        raise UnsupportedProtocol(
            f"the client speaks {asked}, the daemon {PROTOCOL_VERSION}", supported=[PROTOCOL_VERSION]
        )
    options = members.get("initializationOptions")
    return Greeting(
        client_id=capabilities.client_id if capabilities else None,
        name=(capabilities and capabilities.name) or _client_name(members),
        kind=(capabilities.kind or OWN_KIND) if capabilities else PLAIN_KIND,
        capabilities=capabilities,
        options=_judged(InitializationOptions, options if isinstance(options, dict) else {}),
    )


def initialize_result(params: Json, agents: AgentsServerCapabilities) -> dict[str, Any]:
    """A standard InitializeResult; params that `greeting` has read are expected."""
    offered = lsp.ServerCapabilities(
        position_encoding=_position_encoding(_object(params, "params").get("capabilities")),
        text_document_sync=lsp.TextDocumentSyncKind.None_,
        experimental={"agents": agents.wire()},
    )
    result = lsp.InitializeResult(capabilities=offered, server_info=lsp.ServerInfo(name="abey", version=VERSION))
    unstructured: dict[str, Any] = _converter().unstructure(result, lsp.InitializeResult)
    return unstructured


def _agents(capabilities: Mapping[str, Json]) -> AgentsClientCapabilities | None:
    experimental = capabilities.get("experimental")
    agents = experimental.get("agents") if isinstance(experimental, dict) else None
    return None if agents is None else _judged(AgentsClientCapabilities, agents)


def _judged(model: type[W], value: Json) -> W:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid_params("initialize", error) from error


def _object(value: Json, name: str) -> Mapping[str, Json]:
    if value is not None and not isinstance(value, dict):
        errors = [{"loc": [name], "msg": f"{name} is an object", "type": "dict_type"}]
        raise InvalidParams("invalid params for initialize", errors=errors)
    return value or {}


def _speaks(version: str) -> bool:
    """Every version of our major is understood: minor ones only add."""
    return version.split(".")[0] == PROTOCOL_VERSION.split(".")[0]


def _client_name(members: Mapping[str, Json]) -> str:
    info = members.get("clientInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and name else "unnamed"


def _position_encoding(capabilities: Json) -> lsp.PositionEncodingKind | str:
    """As the client prefers; editors send capabilities that LSP does not know, and those are no reason to fail."""
    try:
        known = _converter().structure(capabilities or {}, lsp.ClientCapabilities)
    except Exception as error:  # noqa: BLE001  cattrs raises whatever the hook of a field raises
        log.warning("client capabilities are not as LSP has them, the defaults are used: %s", type(error).__name__)
        known = lsp.ClientCapabilities()
    return ServerCapabilitiesBuilder.choose_position_encoding(known)


@functools.cache
def _converter() -> Converter:
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls leaves it without annotations
    return converter
