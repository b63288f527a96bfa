"""JSON schemas as most tools have them: judged here, so that a daemon loads no checker of all of JSON schema for them.

Law: what is plain here is a schema that the checker takes, and what fits here fits there. Everything else says nothing:
the checker knows, and has the words for what is wrong (arguments.py).
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

DEEPEST = 16
"""Schemas within schemas."""
WHOLE = 2**53
"""Beyond it whole numbers are left to the checker."""

_WORDS = frozenset(
    ("type", "properties", "required", "additionalProperties", "items", "enum", "title", "description", "default")
)
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_NO_TEXT = re.compile("[\ud800-\udfff]")


def is_plain(schema: Any, depth: int = 0) -> bool:
    """Whether it has a type, and says of it what is said here, and nothing else."""
    if not isinstance(schema, dict) or depth > DEEPEST or not _WORDS.issuperset(schema):
        return False
    return (
        schema.get("type") in _TYPES
        and all(_is_text(schema.get(word, "")) for word in ("title", "description"))
        and _is_default(schema.get("default"))
        and isinstance(schema.get("additionalProperties", True), bool)
        and _are_texts(schema.get("enum", ["any"]))
        and _are_names(schema.get("required", []))
        and ("items" not in schema or is_plain(schema["items"], depth + 1))
        and _are_properties(schema.get("properties", {}), depth + 1)
    )


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether the schema, which never changes, is plain, and the value what it asks for."""
    return _known_plain(_This(schema)) and _fits(schema, value)


class _This:
    """A value that is looked up by what it is, and not by what it says."""

    __slots__ = ("value",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=256)
def _known_plain(schema: _This) -> bool:
    """Of the schema of a tool, which is the same one at every call."""
    return is_plain(schema.value)


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    if "enum" in schema and value not in schema["enum"]:
        return False
    match schema["type"]:
        case "object":
            return isinstance(value, dict) and _object_fits(schema, value)
        case "array":
            items = schema.get("items")
            return isinstance(value, list) and all(_fits(items, one) if items else _is_scalar(one) for one in value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return type(value) is int and -WHOLE < value < WHOLE
        case _:
            return type(value) in (int, float) and _is_scalar(value)


def _object_fits(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    known, open_to_more = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not all(map(value.__contains__, schema.get("required", ()))):
        return False
    for name, one in value.items():
        if not (_fits(known[name], one) if name in known else open_to_more and _is_text(name) and _is_scalar(one)):
            return False
    return True


def _are_properties(value: Any, depth: int) -> bool:
    return isinstance(value, dict) and all(_is_text(name) and is_plain(one, depth) for name, one in value.items())


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len({*value}) == len(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_text, value))


def _is_default(value: Any) -> bool:
    return _is_scalar(value) and (not isinstance(value, str) or _is_text(value))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | bool) or (isinstance(value, int) and -WHOLE < value < WHOLE)


def _is_text(value: Any) -> bool:
    """A string that UTF-8 can hold."""
    return isinstance(value, str) and (value.isascii() or _NO_TEXT.search(value) is None)
