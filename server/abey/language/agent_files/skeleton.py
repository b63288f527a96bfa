"""What stands for a value that is not written yet: the least that has its form, with stops for who fills it in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from abey.language.agent_files.grammar import variants

_PLAIN: Mapping[str, tuple[str, str, str]] = {
    "string": ('"', "", '"'),
    "object": ("{", "", "}"),
    "array": ("[", "", "]"),
}

CAREFUL = "defer"


@dataclass(slots=True)
class Sketch:
    """JSON text with stops, as a snippet has them; `plain` is the same without."""

    snippet: str = ""
    plain: str = ""
    stops: list[int] = field(default_factory=lambda: [0])

    def write(self, text: str) -> "Sketch":
        self.snippet += text.replace("\\", "\\\\").replace("$", "\\$")
        self.plain += text
        return self

    def stop(self, text: str = "") -> "Sketch":
        self.stops[0] += 1
        self.snippet += f"${{{self.stops[0]}:{escaped(text)}}}" if text else f"${self.stops[0]}"
        self.plain += text
        return self


def escaped(text: str) -> str:
    """`text` as it stands inside a stop of a snippet."""
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")


def value(schema: Mapping[str, Any], into: Sketch) -> Sketch:
    """The least value of a schema."""
    here = list(variants(schema, None))
    only = [one for one in here if one.get("type") != "null" and not one.get("deprecated")] or here
    first = only[0]
    if len(only) == 1 and "const" in first:
        return into.write(json.dumps(first["const"]))
    if "enum" in first:
        return into.write('"').stop(_word(first)).write('"')
    kinds = first.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind in _PLAIN:
        before, inner, after = _PLAIN[kind]
        return into.write(before).stop(inner).write(after)
    return into.stop(_scalar(kind, first))


def members(schema: Mapping[str, Any], into: Sketch) -> Sketch:
    """An object with all that it must have."""
    into.write("{")
    for at, name in enumerate(needed(schema)):
        into.write(f"{', ' if at else ''}{json.dumps(name)}: ")
        value(schema["properties"][name], into)
    return into.write("}")


def needed(schema: Mapping[str, Any]) -> list[str]:
    """What must be there: of several ways the first; and where that is but a tag, the first thing it is there for."""
    required = list(schema.get("required", ()))
    for way in schema.get("oneOf", ())[:1]:
        required += way.get("required", ())
    others = [name for name in schema["properties"] if name not in required]
    only_tag = len(required) == 1 and "const" in schema["properties"][required[0]]
    return required + (others[:1] if only_tag else [])


def _word(schema: Mapping[str, Any]) -> str:
    """One of a few words: what counts without it, or else the careful one."""
    words: list[str] = schema["enum"]
    default = schema.get("default")
    return default if default in words else CAREFUL if CAREFUL in words else words[0]


def _scalar(kind: str, schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    if kind == "boolean":
        return "false" if default is True else "true"
    if isinstance(default, int | float):
        return json.dumps(int(default) if default == int(default) else default)
    return "1" if "exclusiveMinimum" in schema else "0"
