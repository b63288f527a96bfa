"""The types of the schema document as a closed union, for the renderers of other languages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    name: str


@dataclass(frozen=True, slots=True)
class Words:
    """One of these strings."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these shapes; none of them is itself a choice."""

    options: tuple["Shape", ...]


@dataclass(frozen=True, slots=True)
class Several:
    item: "Shape"


@dataclass(frozen=True, slots=True)
class Mapped:
    """An object with any names."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class Scalar:
    """`kind` is string, integer, number or boolean."""

    kind: str


@dataclass(frozen=True, slots=True)
class Anything:
    """A JSON value that is passed through as it came."""


Shape = Ref | Words | Choice | Several | Mapped | Scalar | Anything


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Object:
    name: str
    description: str | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Alias:
    name: str
    shape: Shape


def declarations(document: Mapping[str, Any]) -> tuple[Object | Alias, ...]:
    """Every type in `$defs`, by name. Raises ValueError for a schema that no model of ours comes to."""
    return tuple(_declaration(name, schema) for name, schema in document["$defs"].items())


def reference(schema: Mapping[str, Any]) -> str:
    """The name that `{"$ref": …}` refers to."""
    return str(schema["$ref"]).rpartition("/")[2]


def _declaration(name: str, schema: Mapping[str, Any]) -> Object | Alias:
    if schema.get("type") != "object":
        return Alias(name, _shape(schema))
    required = schema.get("required", ())
    members = schema.get("properties", {}).items()
    return Object(
        name,
        schema.get("description"),
        tuple(Member(member, _shape(inner), member in required) for member, inner in members),
    )


def _shape(schema: Mapping[str, Any]) -> Shape:
    match schema:
        case {"$ref": _}:
            return Ref(reference(schema))
        case {"const": str(word)}:
            return Words((word,))
        case {"enum": [*words]}:
            return Words(tuple(words))
        case {"anyOf": [*options]} | {"oneOf": [*options]}:
            return Choice(tuple(flat for option in options for flat in _flat(_shape(option))))
        case {"type": "array", "items": item}:
            return Several(_shape(item))
        case {"type": "object", "additionalProperties": True}:
            return Mapped(Anything())
        case {"type": "object", "additionalProperties": dict(value)}:
            return Mapped(_shape(value))
        case {"type": "string" | "integer" | "number" | "boolean" as kind}:
            return Scalar(kind)
    if schema:
        raise ValueError(f"no shape for {schema}")
    return Anything()


def _flat(shape: Shape) -> tuple[Shape, ...]:
    return shape.options if isinstance(shape, Choice) else (shape,)
