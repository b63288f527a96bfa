"""The protocol in the words of other languages."""

import ast

import pytest

from abey.protocol.schema import document
from abey.protocol.shapes import declarations
from abey.protocol.typeddicts import typeddicts
from abey.protocol.typescript import typescript

SMALL = {
    "protocolVersion": "1.0",
    "methods": {
        "agents/look": {"params": {"$ref": "#/$defs/Look"}, "result": {"$ref": "#/$defs/Empty"}},
        "agents/paint": {"params": {"$ref": "#/$defs/Paint"}, "result": {"$ref": "#/$defs/Empty"}},
    },
    "notifications": {"agents/seen": {"params": {"$ref": "#/$defs/Look"}}},
    "errors": {"too-large": -31015, "model": -31017},
    "modelErrors": ["auth"],
    "$defs": {
        "Colour": {"enum": ["red", "blue"], "type": "string"},
        "Empty": {"description": "Nothing.", "properties": {}, "type": "object"},
        "Look": {
            "description": "One line.\n\nAnd more.",
            "properties": {
                "tag": {"const": "look", "type": "string"},
                "colours": {"items": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "integer"}]}, "type": "array"},
                "env": {"additionalProperties": {"type": "string"}, "type": "object"},
                "config": {"additionalProperties": True, "type": "object"},
                "value": {},
                "deep": {"oneOf": [{"type": "number"}, {"anyOf": [{"type": "boolean"}, {"type": "string"}]}]},
            },
            "required": ["tag", "colours"],
            "type": "object",
        },
        "Paint": {"properties": {"idempotencyKey": {"type": "string"}}, "type": "object"},
    },
}

TYPESCRIPT = """\
export const protocolVersion = "1.0";

export type Colour = "red" | "blue";

/** Nothing. */
export type Empty = Readonly<Record<string, never>>;

/**
 * One line.
 *
 * And more.
 */
export interface Look {
  readonly tag: "look";
  readonly colours: readonly (Colour | number)[];
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly value?: unknown;
  readonly deep?: number | boolean | string;
}

export interface Paint {
  readonly idempotencyKey?: string;
}

export interface Methods {
  readonly "agents/look": { readonly params: Look; readonly result: Empty };
  readonly "agents/paint": { readonly params: Paint; readonly result: Empty };
}

export interface Notifications {
  readonly "agents/seen": { readonly params: Look };
}

/** A request by its name; `effect`: it takes an `idempotencyKey`. `_` only holds the types together. */
export interface Method<P, R> {
  readonly name: keyof Methods;
  readonly effect: boolean;
  readonly _?: (params: P) => R;
}

type Of<M extends keyof Methods> = Method<Methods[M]["params"], Methods[M]["result"]>;

const method = <M extends keyof Methods>(name: M, effect: boolean): Of<M> => ({ name, effect });

export const agents = {
  look: method("agents/look", false),
  paint: method("agents/paint", true),
} as const;

export const errorCodes = {
  "too-large": -31015,
  "model": -31017,
} as const;

export type ErrorKind = "too-large" | "model/auth";
"""

TYPEDDICTS = '''\
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Empty(TypedDict):
    """Nothing."""


class Look(TypedDict):
    """One line.

    And more.
    """

    tag: Literal["look"]
    colours: list[Colour | int]
    env: NotRequired[dict[str, str]]
    config: NotRequired[dict[str, Any]]
    value: NotRequired[Any]
    deep: NotRequired[float | bool | str]


class Paint(TypedDict):
    idempotencyKey: NotRequired[str]


Colour = Literal["red", "blue"]
'''


def test_every_shape_has_its_typescript() -> None:
    assert typescript(SMALL) == TYPESCRIPT


def test_every_shape_has_its_typed_dict() -> None:
    assert typeddicts(SMALL) == TYPEDDICTS


def test_the_typed_dicts_of_the_protocol_import_nothing_but_typing() -> None:
    imports = [
        node for node in ast.walk(ast.parse(typeddicts(document()))) if isinstance(node, ast.ImportFrom | ast.Import)
    ]
    assert [ast.unparse(node) for node in imports] == [
        "from __future__ import annotations",
        "from typing import Any, Literal, NotRequired, TypedDict",
    ]


def test_a_schema_that_no_model_comes_to_is_refused() -> None:
    with pytest.raises(ValueError, match="no shape for"):
        declarations({"$defs": {"Odd": {"not": {}}}})
