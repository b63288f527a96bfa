"""What a person writes, as the value that a question wants (command-line.md, Commands that answer calls)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from abey.shared.escaping import escape_line
from abey_cli.failures import Failure, usage

TRUE = ("true", "yes", "y")
FALSE = ("false", "no", "n")


def value_of(question: Mapping[str, Any] | None, words: Sequence[str]) -> Any:
    """The value that `words` say: JSON, or `name=value` for each field, or a text. Raises Failure (exit 2)."""
    if question is not None and question["kind"] == "approval":
        return _of_type({"type": "boolean"}, " ".join(words))
    fields = fields_of(question or {})
    if fields is None:
        return _of_type((question or {}).get("schema") or {}, " ".join(words))
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return json_value(words[0], repr(words[0]))
    return {name: _named(name, fields.get(name, {}), text) for name, text in (_field(word, fields) for word in words)}


def fields_of(question: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """The fields that a question wants, each with its schema; None where it wants one value. A schema may also be true
    or false: nothing is known of that field."""
    fields = (question.get("schema") or {}).get("properties")
    if not isinstance(fields, Mapping):
        return None
    return {name: schema if isinstance(schema, Mapping) else {} for name, schema in fields.items()}


def field_of(schema: Mapping[str, Any], text: str) -> Any:
    """The value of one field. Raises Failure (exit 2)."""
    return _of_type(schema, text)


def wanted(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    """A field, for a person: its name, what it is about, and what fits."""
    named = [one["const"] for one in schema.get("oneOf", ()) if isinstance(one, Mapping) and "const" in one]
    choices = schema.get("enum") or named
    kind = " | ".join(map(str, choices)) or str(schema.get("type", "any value"))
    about = schema.get("description") or schema.get("title")
    said = f" - {about}" if about else ""
    return f"{name} ({kind}{'' if required else ', may be left out'}){said}:"


def _field(word: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals:
        names = ", ".join(map(escape_line, fields)) or "its fields"
        raise usage(f"{word!r} is no field: write NAME=VALUE for each of {names}, or all as one JSON object")
    return name, text


def _named(name: str, schema: Mapping[str, Any], text: str) -> Any:
    """The value of the field. Raises Failure (exit 2), which names it."""
    try:
        return _of_type(schema, text)
    except Failure as failure:
        kind = f" wants {escape_line(str(schema['type']))}" if "type" in schema else ""
        raise usage(f"{name}{kind}: {failure.message}") from failure


def _of_type(schema: Mapping[str, Any], text: str) -> Any:
    match schema.get("type"):
        case "string":
            return text
        case "boolean" if text.lower() in (*TRUE, *FALSE):
            return text.lower() in TRUE
        case "boolean":
            raise usage(f"{text!r} is neither yes nor no")
        case "array" if not text.lstrip().startswith("["):
            return [one.strip() for one in text.split(",")] if text.strip() else []
        case "integer" | "number" | "array":
            return json_value(text, repr(text))
        case _:
            try:
                return json_value(text, repr(text))
            except Failure:
                return text


def json_value(text: str, what: str) -> Any:
    """The JSON value of a text that people know as `what`. Raises Failure."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise usage(f"{what} is no JSON value: {error}") from error
    return value
