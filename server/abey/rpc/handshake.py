"""`initialize`: who the client is, and a standard LSP answer with our capabilities in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from abey.errors import UnsupportedProtocol
from abey.protocol.base import Json, Wire
from abey.protocol.handshake import (
    PROTOCOL_VERSION,
    AgentsClientCapabilities,
    AgentsServerCapabilities,
    InitializationOptions,
)
from abey.rpc.editor import Editor, editor
from abey.rpc.faults import InvalidParams, invalid_params
from abey.rpc.peer import Peer
from abey.shared.version import VERSION

W = TypeVar("W", bound=Wire)

PLAIN_KIND = "lsp"
"""The kind of a client that knows nothing of agents."""
OWN_KIND = "rpc"
"""The kind of a client that speaks our protocol and does not say what it is."""
UNNAMED = {PLAIN_KIND: "editor", OWN_KIND: "unnamed"}
"""What a client is called that does not say its name."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a client says of itself; `capabilities` is None for a plain LSP client."""

    client_id: str | None
    name: str
    kind: str
    capabilities: AgentsClientCapabilities | None
    options: InitializationOptions = field(repr=False)
    editor: Editor = field(repr=False)


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
        name=(capabilities and capabilities.name)
        or _client_name(members)
        or UNNAMED[OWN_KIND if capabilities else PLAIN_KIND],
        kind=(capabilities.kind or OWN_KIND) if capabilities else PLAIN_KIND,
        capabilities=capabilities,
        options=_judged(InitializationOptions, options if isinstance(options, dict) else {}),
        editor=editor(members),
    )


def initialize_result(peer: Peer, offered: Mapping[str, Json], agents: AgentsServerCapabilities) -> dict[str, Any]:
    """A standard InitializeResult: what is offered, and our capabilities in it."""
    experimental = {"agents": agents.wire()}
    return {
        "capabilities": {"positionEncoding": peer.editor.encoding, **offered, "experimental": experimental},
        "serverInfo": {"name": "abey", "version": VERSION},
    }


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


def _client_name(members: Mapping[str, Json]) -> str | None:
    info = members.get("clientInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and name else None
