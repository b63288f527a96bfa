"""The tools of a server as the model sees them: `mcp_<name>_<tool>` (agent-file.md, Tools)."""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from abey.core.agent import Tool, ToolSource
from abey.protocol.base import canonical_json, sha256_hex
from abey.runtime.tools.arguments import broken_schema
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

LONGEST_NAME = 64
TOOLS = 1000
"""Of one server; the others are left out."""
LARGEST_TOOL = 256 * 1024
"""Bytes of what a tool is."""
_SIGNS = 8
_ROOM = 12
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def model_name(prefix: str, tool: str) -> str:
    """A name that providers take, if the prefix is one: what is foreign in the tool's own becomes `_`, and what is cut
    off, its end."""
    name = prefix + _FOREIGN.sub("_", tool)
    room = max(LONGEST_NAME - len(prefix), _ROOM)
    return name if len(name) - len(prefix) <= room else _marked(name[: len(prefix) + room - _SIGNS - 1], tool)


@dataclass(frozen=True, slots=True)
class Listed:
    """`faults` say of what is no tool why not, by what its name would be."""

    tools: tuple[Tool, ...]
    faults: Mapping[str, str]


def tools_of(source: ToolSource, listed: Iterable[Mapping[str, Any]]) -> Listed:
    """From what `tools/list` answers. Two tools never share a name."""
    found: dict[str, Tool] = {}
    faults: dict[str, str] = {}
    for entry in {str(entry["name"]): entry for entry in listed}.values():
        if len(found) >= TOOLS:
            log.warning("%s has more than %d tools: the others are left out", source.prefix, TOOLS)
            break
        for name in _names(source.prefix, str(entry["name"])):
            if name in found:
                continue
            try:
                found[name] = _tool(source, name, entry)
            except (ValueError, RecursionError) as fault:
                faults[name] = cut(escape_line(str(fault)), 300)
            break
    return Listed(tuple(found.values()), {name: why for name, why in faults.items() if name not in found})


def _names(prefix: str, tool: str) -> Iterator[str]:
    name = model_name(prefix, tool)
    yield name
    yield _marked(name[: max(len(prefix), LONGEST_NAME - _SIGNS - 1)], tool)


def _marked(name: str, tool: str) -> str:
    return f"{name}_{hashlib.sha256(tool.encode('utf-8', 'surrogatepass')).hexdigest()[:_SIGNS]}"


def _tool(source: ToolSource, name: str, entry: Mapping[str, Any]) -> Tool:
    """Raises ValueError, RecursionError where nobody could vouch for what it is, or offer it to a model."""
    parameters = entry.get("inputSchema") or {"type": "object"}
    description = str(entry.get("description") or entry.get("title") or "")
    definition = {
        "kind": source.kind,
        "name": name,
        "description": description,
        "parameters": parameters,
        "tool": entry["name"],
        "server": dict(source.definition),
    }
    size = len(canonical_json(definition))
    if size > LARGEST_TOOL:
        raise ValueError(f"its definition has {size} bytes; at most {LARGEST_TOOL} can be told to a model")
    broken = broken_schema(parameters)
    if broken is not None:
        raise ValueError(broken)
    read_only = (entry.get("annotations") or {}).get("readOnlyHint") is True
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        definition=definition,
        hash=sha256_hex(definition),
        idempotent=source.idempotent,
        destructive=not read_only if source.destructive is None else source.destructive,
        command=source.shell if source.shell in parameters.get("properties", {}) else None,
        timeout_seconds=source.timeout_seconds,
    )
