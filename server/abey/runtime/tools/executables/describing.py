"""What a program says of itself when it is asked to `describe`, and how it is called (agent-file.md, Executables)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from abey.runtime.tools.placeholders import BadArgument, text_of
from abey.shared.escaping import cut, escape_line

_SLUG = re.compile("[A-Za-z0-9_-]{1,59}")
"""With `bash_` before it no longer than providers take."""

_MODES = ("positional", "dashdashspace", "dashdashequal", "stdin")
_ARITIES = ("single", "optional")
_TYPES = {
    "string": "string",
    "str": "string",
    "text": "string",
    "number": "number",
    "float": "number",
    "double": "number",
    "integer": "integer",
    "int": "integer",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
}
_SHOWN = 80


class BadDescription(Exception):
    """What a program said is no description of a tool; the message says why, in a line."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`mode` is how a value is handed over, `type` the one of JSON schema."""

    name: str
    description: str
    type: str
    optional: bool
    mode: str


@dataclass(frozen=True, slots=True)
class Description:
    """`empty` stands for an empty output; the output is base64 of `media_type`, where that is no text."""

    slug: str
    description: str
    parameters: tuple[Parameter, ...]
    empty: str | None
    media_type: str | None


def description_of(output: bytes) -> Description:
    """Raises BadDescription. Members that are not known are passed over."""
    try:
        said = json.loads(output)
    except (ValueError, RecursionError):
        raise BadDescription("its description is no JSON") from None
    if not isinstance(said, dict):
        raise BadDescription("its description is no JSON object")
    slug = _text(said, "slug", "the description")
    if not _SLUG.fullmatch(slug):
        raise BadDescription(f"its slug {_shown(slug)} is not 1 to 59 of A-Z a-z 0-9 _ -")
    parameters = tuple(_parameters(said.get("args", [])))
    names = [parameter.name for parameter in parameters]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadDescription(f"two of its arguments are called {_shown(twice)}")
    media_type = said.get("output-media-type")
    if media_type is not None and not isinstance(media_type, str):
        raise BadDescription("its output-media-type is no string")
    return Description(slug, _text(said, "description", "the description"), parameters, _empty(said), media_type)


def schema_of(description: Description) -> dict[str, Any]:
    """The JSON schema of its arguments."""
    return {
        "type": "object",
        "properties": {one.name: {"type": one.type, "description": one.description} for one in description.parameters},
        "required": [one.name for one in description.parameters if not one.optional],
        "additionalProperties": False,
    }


def command_line(parameters: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]) -> tuple[list[str], bytes]:
    """What follows `run`, and what is on stdin; `parameters` are as a tool's definition has them. What has no value, or
    null, is left out. Raises BadArgument."""
    argv: list[str] = []
    lines: list[str] = []
    for parameter in parameters:
        name, value = parameter["name"], arguments.get(parameter["name"])
        if value is None:
            continue
        text = _checked(name, text_of(value), of_argv=parameter["mode"] != "stdin")
        match parameter["mode"]:
            case "positional":
                argv.append(text)
            case "dashdashspace":
                argv += [f"--{name}", text]
            case "dashdashequal":
                argv.append(f"--{name}={text}")
            case _:
                lines.append(text)
    return argv, "".join(f"{line}\n" for line in lines).encode("utf-8")


def _parameters(said: Any) -> Iterator[Parameter]:
    if not isinstance(said, list):
        raise BadDescription("its args are no list")
    for one in said:
        if not isinstance(one, dict):
            raise BadDescription("one of its args is no object")
        name = _text(one, "name", "one of its args")
        if not name or "\0" in name or "=" in name:
            raise BadDescription(f"an argument cannot be called {_shown(name)}")
        mode, arity = one.get("mode", "positional"), one.get("arity", "single")
        if mode not in _MODES:
            raise BadDescription(f"the mode {_shown(mode)} of {_shown(name)} is none of {', '.join(_MODES)}")
        if arity not in _ARITIES:
            raise BadDescription(f"the arity {_shown(arity)} of {_shown(name)} is neither single nor optional")
        description = one.get("description")
        told = description if isinstance(description, str) else ""
        yield Parameter(name, told, _type(one), arity == "optional", mode)


def _type(said: Mapping[str, Any]) -> str:
    named = [said.get("backing_type"), said.get("type")]
    known = [_TYPES[one.lower()] for one in named if isinstance(one, str) and one.lower() in _TYPES]
    return known[0] if known else "string"


def _empty(said: Mapping[str, Any]) -> str | None:
    match said.get("empty-result"):
        case None | {"tag": "DoNothing"}:
            return None
        case {"tag": "AddMessage", "contents": str() as message}:
            return message
        case _:
            raise BadDescription("its empty-result is neither DoNothing nor AddMessage")


def _text(said: Mapping[str, Any], name: str, where: str) -> str:
    found = said.get(name)
    if not isinstance(found, str):
        raise BadDescription(f"{where} has no {name}")
    return found


def _checked(name: str, text: str, *, of_argv: bool) -> str:
    if of_argv and "\0" in text:
        raise BadArgument(f"the argument {name} holds a NUL character, which no program can be given")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadArgument(f"the argument {name} holds half a surrogate pair, which is no text") from None
    return text


def _shown(value: Any) -> str:
    return f"`{cut(escape_line(value if isinstance(value, str) else json.dumps(value)), _SHOWN)}`"
