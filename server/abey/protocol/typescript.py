"""The protocol in TypeScript, for the extension."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from abey.protocol.shapes import (
    Alias,
    Anything,
    Choice,
    Mapped,
    Object,
    Ref,
    Scalar,
    Several,
    Shape,
    Words,
    declarations,
    reference,
)

_METHOD = """\
/** A request by its name; `effect`: it takes an `idempotencyKey`. `_` only holds the types together. */
export interface Method<P, R> {
  readonly name: keyof Methods;
  readonly effect: boolean;
  readonly _?: (params: P) => R;
}

type Of<M extends keyof Methods> = Method<Methods[M]["params"], Methods[M]["result"]>;

const method = <M extends keyof Methods>(name: M, effect: boolean): Of<M> => ({ name, effect });
"""


def typescript(document: Mapping[str, Any]) -> str:
    """Declarations for every type of the schema document, what each method takes and answers, and the methods."""
    blocks = [
        f"export const protocolVersion = {json.dumps(document['protocolVersion'])};\n",
        *(_declaration(declaration) for declaration in declarations(document)),
        _index("Methods", document["methods"]),
        _index("Notifications", document["notifications"]),
        _METHOD,
        _methods(document),
        _error_codes(document["errors"]),
        f"export type ErrorKind = {_type(Words(tuple(_error_kinds(document))))};\n",
    ]
    return "\n".join(blocks)


def _declaration(declaration: Object | Alias) -> str:
    match declaration:
        case Object(name, description, ()):
            return f"{_comment(description)}export type {name} = Readonly<Record<string, never>>;\n"
        case Object(name, description, members):
            lines = [
                f"  readonly {member.name}{'' if member.required else '?'}: {_type(member.shape)};\n"
                for member in members
            ]
            return f"{_comment(description)}export interface {name} {{\n{''.join(lines)}}}\n"
        case Alias(name, shape):
            return f"export type {name} = {_type(shape)};\n"
        case _:
            assert_never(declaration)


def _comment(description: str | None) -> str:
    if description is None:
        return ""
    lines = description.splitlines()
    if len(lines) == 1:
        return f"/** {description} */\n"
    return "".join(["/**\n", *(f" * {line}".rstrip() + "\n" for line in lines), " */\n"])


def _type(shape: Shape) -> str:
    match shape:
        case Ref(name):
            return name
        case Words(values):
            return " | ".join(json.dumps(value) for value in values)
        case Choice(options):
            return " | ".join(_type(option) for option in options)
        case Several(item):
            return f"readonly {_operand(item)}[]"
        case Mapped(value):
            return f"Readonly<Record<string, {_type(value)}>>"
        case Scalar(kind):
            return "number" if kind == "integer" else kind
        case Anything():
            return "unknown"
        case _:
            assert_never(shape)


def _operand(shape: Shape) -> str:
    text = _type(shape)
    return f"({text})" if " " in text and not isinstance(shape, Mapped) else text


def _index(name: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        f"  readonly {json.dumps(entry)}: "
        f"{{ {'; '.join(f'readonly {part}: {reference(schema)}' for part, schema in parts.items())} }};\n"
        for entry, parts in entries.items()
    ]
    return f"export interface {name} {{\n{''.join(lines)}}}\n"


def _methods(document: Mapping[str, Any]) -> str:
    lines = [
        f"  {name.removeprefix('agents/')}: method({json.dumps(name)}, {json.dumps(_has_effect(document, name))}),\n"
        for name in document["methods"]
    ]
    return f"export const agents = {{\n{''.join(lines)}}} as const;\n"


def _has_effect(document: Mapping[str, Any], name: str) -> bool:
    params = document["$defs"][reference(document["methods"][name]["params"])]
    return "idempotencyKey" in params["properties"]


def _error_codes(codes: Mapping[str, int]) -> str:
    lines = [f"  {json.dumps(kind)}: {code},\n" for kind, code in codes.items()]
    return f"export const errorCodes = {{\n{''.join(lines)}}} as const;\n"


def _error_kinds(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (kind for kind in document["errors"] if kind != "model")
    yield from (f"model/{code}" for code in document["modelErrors"])
