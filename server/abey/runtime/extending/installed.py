"""An extension as it was found: what it gives, under names that nothing else has, or why nothing can be had of it."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from abey.core.agent import Tool
from abey.extensions import Capability, Extension
from abey.extensions import Tool as ExtensionTool
from abey.protocol.base import sha256_hex
from abey.runtime.around import FoundExtension
from abey.runtime.tools.arguments import broken_schema
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

KIND = "extension"
"""Of their tools."""

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Installed:
    """One that can be used. `package` is its name and version; `tools` are as the core knows them, by their name."""

    name: str
    package: str
    extension: Extension
    tools: Mapping[str, Tool] = field(default_factory=dict)

    def tool(self, name: str) -> ExtensionTool | None:
        """What runs the calls of a tool."""
        return next((one for one in self.extension.tools if one.name == name), None)

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """Under ids that those of other extensions do not have."""
        return tuple(replace(one, id=scoped(self.name, one.id)) for one in self.extension.capabilities)


@dataclass(frozen=True, slots=True)
class Broken:
    """One that cannot be used, and `why`, in a line."""

    name: str
    package: str
    why: str


Found = Installed | Broken


def described(found: Iterable[Found]) -> tuple[FoundExtension, ...]:
    """As people are told of them."""
    return tuple(FoundExtension(one.name, one.package, one.why if isinstance(one, Broken) else None) for one in found)


def scoped(extension: str, capability_id: str) -> str:
    return f"{extension}/{capability_id}"


class Unusable(Exception):
    """What is no extension, or declares what none can have."""


def installed(name: str, package: str, load: Callable[[], object]) -> Found:
    """What an entry point of that name comes to: `load` gives an extension, or what makes one."""
    try:
        given = load()
        extension = given() if not isinstance(given, Extension) and callable(given) else given
        if not isinstance(extension, Extension):
            raise Unusable("it is no abey.extensions.Extension, and makes none")
        for fault in _faults(name, extension):
            raise Unusable(fault)
        tools = {one.name: _resolved(name, package, one) for one in extension.tools}
    except BaseException as error:  # none of it is ours: nobody interrupts the thread in which this runs
        log.exception("the extension %s cannot be used", name)
        why = str(error) if isinstance(error, Unusable) else f"{type(error).__name__}: {error}"
        return Broken(name, package, cut(escape_line(why), _SHOWN))
    return Installed(name, package, extension, tools)


def _faults(name: str, extension: Extension) -> Iterator[str]:
    if not NAME.fullmatch(name):
        yield "the name of its entry point is not of the form [A-Za-z0-9_-]{1,64}"
    yield from _repeated("capability", [one.id for one in extension.capabilities])
    yield from _repeated("tool", [one.name for one in extension.tools])
    for tool in extension.tools:
        if not NAME.fullmatch(tool.name):
            yield f"the name of the tool {tool.name!r} is not of the form [A-Za-z0-9_-]{{1,64}}"
        if tool.parameters.get("type") != "object":
            yield f"the parameters of the tool {tool.name} are no schema of an object"
        broken = broken_schema(tool.parameters)
        if broken is not None:
            yield f"tool {tool.name}: {broken}"
        if not tool.timeout_seconds > 0:
            yield f"the tool {tool.name} has no time to run"


def _repeated(what: str, names: list[str]) -> Iterator[str]:
    yield from (f"it declares the {what} {one} twice" for one in sorted({one for one in names if names.count(one) > 1}))


def _resolved(extension: str, package: str, tool: ExtensionTool) -> Tool:
    """Of another version of the package it is another tool: what it would run may be something else."""
    parameters = deepcopy(dict(tool.parameters))
    definition: dict[str, Any] = {
        "kind": KIND,
        "extension": extension,
        "package": package,
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
    }
    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=parameters,
        definition=definition,
        hash=sha256_hex(definition),
        idempotent=tool.idempotent,
        destructive=tool.destructive,
        command=tool.command,
        timeout_seconds=tool.timeout_seconds,
        offered=False,
    )
