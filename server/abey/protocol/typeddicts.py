"""The protocol as typed dicts, for the client, which knows no pydantic."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from abey.protocol.shapes import (
    Alias,
    Anything,
    Choice,
    Mapped,
    Member,
    Object,
    Ref,
    Scalar,
    Several,
    Shape,
    Words,
    declarations,
)

HEAD = """\
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
"""

LINE_LENGTH = 120

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def typeddicts(document: Mapping[str, Any]) -> str:
    """A Python module with every type of the schema document, laid out as ruff does."""
    types = declarations(document)
    classes = [_class(declaration) for declaration in types if isinstance(declaration, Object)]
    aliases = [_alias(declaration) for declaration in types if isinstance(declaration, Alias)]
    return "\n\n".join([HEAD, *classes, "".join(aliases)])


def _class(declaration: Object) -> str:
    docstring = _docstring(declaration.description)
    members = "".join(_member(member) for member in declaration.members)
    body = "\n".join(part for part in (docstring, members) if part) or "    pass\n"
    return f"class {declaration.name}(TypedDict):\n{body}"


def _docstring(description: str | None) -> str:
    if description is None:
        return ""
    first, *rest = description.splitlines()
    lines = [f'    """{first}', *(f"    {line}".rstrip() for line in rest)]
    return "\n".join(lines) + ('\n    """\n' if rest else '"""\n')


def _member(member: Member) -> str:
    text = _type(member.shape)
    line = f"    {member.name}: {text if member.required else f'NotRequired[{text}]'}\n"
    if len(line) <= LINE_LENGTH or not isinstance(member.shape, Words):
        return line
    around = ("Literal",) if member.required else ("NotRequired", "Literal")
    return f"    {member.name}: {_split(around, member.shape.values, '    ')}\n"


def _split(around: Sequence[str], words: Sequence[str], indent: str) -> str:
    """The words in the brackets of these names, outer first; each word on a line of its own."""
    within = f"{indent}    "
    lines = "".join(f"{within}{json.dumps(word)},\n" for word in words)
    inner = lines if len(around) == 1 else f"{within}{_split(around[1:], words, within)}\n"
    return f"{around[0]}[\n{inner}{indent}]"


def _alias(declaration: Alias) -> str:
    line = f"{declaration.name} = {_type(declaration.shape)}\n"
    if len(line) <= LINE_LENGTH or not isinstance(declaration.shape, Choice):
        return line
    options = "\n    | ".join(_type(option) for option in declaration.shape.options)
    return f"{declaration.name} = (\n    {options}\n)\n"


def _type(shape: Shape) -> str:
    match shape:
        case Ref(name):
            return name
        case Words(values):
            return f"Literal[{', '.join(json.dumps(value) for value in values)}]"
        case Choice(options):
            return " | ".join(_type(option) for option in options)
        case Several(item):
            return f"list[{_type(item)}]"
        case Mapped(value):
            return f"dict[str, {_type(value)}]"
        case Scalar(kind):
            return _SCALARS[kind]
        case Anything():
            return "Any"
        case _:
            assert_never(shape)
