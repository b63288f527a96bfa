"""The JSON schema of everything that crosses the wire, drawn from METHODS, the notifications and the handshake."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from abey.protocol import handshake, methods, notifications, outcomes, policy, queries, session, transcript
from abey.protocol.base import sha256_hex
from abey.shared.kinds import CODES, MODEL_CODES

DIALECT = "https://json-schema.org/draft/2020-12/schema"

NOTIFICATIONS: dict[str, type[BaseModel]] = {
    notifications.EVENT: queries.AgentsEvent,
    notifications.SUMMARY: notifications.Summary,
    notifications.OVERFLOW: notifications.Overflow,
    notifications.CONFIG_CHANGED: notifications.ConfigChanged,
    notifications.DAEMON: notifications.DaemonNotice,
}

CLIENT_HANDSHAKE: dict[str, type[BaseModel]] = {
    "clientCapabilities": handshake.AgentsClientCapabilities,
    "initializationOptions": handshake.InitializationOptions,
}
SERVER_HANDSHAKE: dict[str, type[BaseModel]] = {"serverCapabilities": handshake.AgentsServerCapabilities}

NAMED: dict[str, Any] = {
    "Activity": session.Activity,
    "Attention": notifications.Attention,
    "Decorator": policy.Decorator,
    "Delivery": session.Delivery,
    "Disposition": policy.Disposition,
    "Outcome": outcomes.Outcome,
    "Part": transcript.Part,
    "PendingKind": transcript.PendingKind,
    "State": session.State,
    "TurnEnd": session.TurnEnd,
}
"""Unions that are no classes but have a name in the protocol."""


def document() -> dict[str, Any]:
    """The whole protocol as one JSON schema; `$defs` holds every type under its name."""
    adapters = [(name, mode, TypeAdapter[Any](kind)) for name, mode, kind in _types()]
    roots, definitions = TypeAdapter.json_schemas(adapters, schema_generator=_WireSchema)
    defs = _with_unions_named(definitions["$defs"], {name: roots[name, "serialization"] for name in NAMED})
    return {
        "$schema": DIALECT,
        "title": "abey",
        "protocolVersion": handshake.PROTOCOL_VERSION,
        "methods": {
            method.name: {
                "params": roots[f"{method.name} params", "validation"],
                "result": roots[f"{method.name} result", "serialization"],
            }
            for method in methods.METHODS
        },
        "notifications": {name: {"params": roots[name, "serialization"]} for name in NOTIFICATIONS},
        "handshake": {name: roots[name, "validation"] for name in CLIENT_HANDSHAKE}
        | {name: roots[name, "serialization"] for name in SERVER_HANDSHAKE},
        "errors": CODES,
        "modelErrors": list(MODEL_CODES),
        "$defs": defs,
    }


def schema_hash() -> str:
    """SHA-256 hex of the document, told in the handshake: equal hashes, equal protocol."""
    return sha256_hex(document())


def _types() -> Iterator[tuple[str, JsonSchemaMode, Any]]:
    for method in methods.METHODS:
        yield f"{method.name} params", "validation", method.params
        yield f"{method.name} result", "serialization", method.result
    for name, sent in (NOTIFICATIONS | SERVER_HANDSHAKE | NAMED).items():
        yield name, "serialization", sent
    for name, received in CLIENT_HANDSHAKE.items():
        yield name, "validation", received


def _with_unions_named(defs: dict[str, Any], unions: dict[str, Any]) -> dict[str, Any]:
    """`defs` and `unions` together, with a reference wherever a union is spelled out inside another type."""
    inside = {
        name: {key: _replaced(value, unions) for key, value in definition.items()}
        for name, definition in (defs | unions).items()
    }
    return dict(sorted(inside.items()))


def _replaced(node: Any, unions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_replaced(item, unions) for item in node]
    if not isinstance(node, dict):
        return node
    rest = {key: value for key, value in node.items() if key != "default"}
    for name, union in unions.items():
        if rest == union:
            return {"$ref": f"#/$defs/{name}"} | {key: node[key] for key in node if key not in rest}
    return {key: _replaced(value, unions) for key, value in node.items()}


class _WireSchema(GenerateJsonSchema):
    """What `Wire.wire` writes: an absent member is left out, never null, and a tag always stands there."""

    def ser_schema(self, schema: Any) -> None:
        """A serializer of ours shortens a value and never leaves its type."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        if schema.get("default") is None or _is_tag(schema):
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_is_required(self, field: Any, total: bool) -> bool:
        schema = field["schema"]
        if schema["type"] != "default":
            return super().field_is_required(field, total)
        return _is_tag(schema) or (self.mode == "serialization" and schema.get("default") is not None)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _is_tag(schema: core_schema.WithDefaultSchema) -> bool:
    inner = schema["schema"]
    return inner["type"] == "literal" and len(inner["expected"]) == 1
