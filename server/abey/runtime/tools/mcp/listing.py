"""The tools of a server as the model sees them: `mcp_<name>_<tool>` (agent-file.md, Tools)."""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from abey.core.agent import Tool, ToolSource
from abey.protocol.base import sha256_hex
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

LONGEST_NAME = 64
TOOLS = 1000
"""Of one server; the others are left out."""
_SIGNS = 8
_ROOM = 12
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def model_name(prefix: str, tool: str) -> str:
    """A name that providers take, if the prefix is one: what is foreign in the tool's own becomes `_`, and what is cut
    off, its end."""
    name = prefix + _FOREIGN.sub("_", tool)
    room = max(LONGEST_NAME - len(prefix), _ROOM)
    return name if len(name) - len(prefix) <= room else _marked(name[: len(prefix) + room - _SIGNS - 1], tool)


def tools_of(source: ToolSource, listed: Iterable[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """From what `tools/list` answers. Two tools never share a name."""
    found: dict[str, Tool] = {}
    for entry in {str(entry["name"]): entry for entry in listed}.values():
        if len(found) >= TOOLS:
            log.warning("%s has more than %d tools: the others are left out", source.prefix, TOOLS)
            break
        for name in _names(source.prefix, str(entry["name"])):
            if name not in found:
                found |= _tool(source, name, entry)
                break
    return tuple(found.values())


def _names(prefix: str, tool: str) -> Iterator[str]:
    name = model_name(prefix, tool)
    yield name
    yield _marked(name[: max(len(prefix), LONGEST_NAME - _SIGNS - 1)], tool)


def _marked(name: str, tool: str) -> str:
    return f"{name}_{hashlib.sha256(tool.encode('utf-8', 'surrogatepass')).hexdigest()[:_SIGNS]}"


def _tool(source: ToolSource, name: str, entry: Mapping[str, Any]) -> dict[str, Tool]:
    """The tool by its name, or nothing where nobody could vouch for what it is."""
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
    try:
        hashed = sha256_hex(definition)
    except (ValueError, RecursionError) as fault:
        log.warning("a tool of %s is left out: %s", source.prefix, cut(escape_line(f"{entry['name']}: {fault}"), 300))
        return {}
    read_only = (entry.get("annotations") or {}).get("readOnlyHint") is True
    tool = Tool(
        name=name,
        description=description,
        parameters=parameters,
        definition=definition,
        hash=hashed,
        idempotent=source.idempotent,
        destructive=not read_only if source.destructive is None else source.destructive,
        command=source.shell if source.shell in parameters.get("properties", {}) else None,
        timeout_seconds=source.timeout_seconds,
    )
    return {name: tool}
