"""The tools of an agent file, resolved: those that it says itself, and the sources of the others."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from abey.core.agent import Tool, ToolSource
from abey.core.children import PARAMETERS as CHILD_PARAMETERS
from abey.protocol.base import sha256_hex
from abey.protocol.config import (
    AgentConfig,
    AgentTool,
    AnyToolKind,
    CommandTool,
    ExecutablesTool,
    ExternalTool,
    HttpTool,
    McpTool,
    WorkspaceTool,
)
from abey.runtime.agents.naming import command_of, names_of
from abey.runtime.tools.workspace.definitions import DESCRIPTIONS, PARAMETERS, READS

AVAILABLE = ("command", "executables", "http", "workspace", "mcp", "agent", "external")
"""The kinds of tools that can run in this version."""


def tools_of(config: AgentConfig) -> Iterator[Tool]:
    """The tools that the file tells all of."""
    for tool in config.tools:
        match tool:
            case CommandTool() | ExternalTool():
                yield _command(tool, config)
            case HttpTool():
                yield _http(tool, config)
            case AgentTool():
                yield _agent(tool, config)
            case WorkspaceTool():
                yield from _workspace(tool, config)
            case _:
                pass


def sources_of(config: AgentConfig) -> Iterator[ToolSource]:
    """What has to be asked for its tools, in the order of the file."""
    for tool in config.tools:
        match tool:
            case ExecutablesTool():
                yield source(tool, {"directory": tool.directory, "env": list(tool.env)}, config)
            case McpTool():
                at = {"url": tool.url} if tool.url else {"command": list(tool.command or ()), "env": list(tool.env)}
                yield source(tool, {"name": tool.name, **at}, config)
            case _:
                pass


def resolved(
    tool: AnyToolKind, name: str, description: str, parameters: Any, definition: dict[str, Any], config: AgentConfig
) -> Tool:
    """A Tool with what every kind may say. `definition` is what of it is the kind's own: all that the tool's hash has
    to cover."""
    timeout = _seconds(tool, config)
    whole = {"kind": tool.kind, "name": name, "parameters": parameters, **definition}
    command = command_of(tool)
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        definition=whole,
        hash=sha256_hex(whole),
        runnable=tool.kind != "external",
        idempotent=tool.idempotent,
        destructive=command is not None if tool.destructive is None else tool.destructive,
        command=command,
        timeout_seconds=timeout,
    )


def source(tool: AnyToolKind, definition: dict[str, Any], config: AgentConfig) -> ToolSource:
    """`definition` is what of the entry is its kind's own: what has to be asked anew when it changes."""
    prefix = next(name for name, _exact in names_of(tool))
    whole = {"kind": tool.kind, **definition}
    return ToolSource(
        prefix=prefix,
        definition=whole,
        hash=sha256_hex(whole),
        destructive=tool.destructive,
        idempotent=tool.idempotent,
        shell=tool.shell,
        timeout_seconds=_seconds(tool, config),
    )


def _seconds(tool: AnyToolKind, config: AgentConfig) -> float:
    return tool.timeout_seconds or config.limits.tool_timeout_seconds


def _workspace(tool: WorkspaceTool, config: AgentConfig) -> Iterator[Tool]:
    for name in dict.fromkeys(tool.allow):
        reads = name in READS
        one = resolved(tool, name, DESCRIPTIONS[name], PARAMETERS[name], {}, config)
        destructive = not reads if tool.destructive is None else tool.destructive
        yield replace(one, destructive=destructive, idempotent=reads or tool.idempotent, command=None)


def _agent(tool: AgentTool, config: AgentConfig) -> Tool:
    own: dict[str, Any] = {"agent": tool.agent}
    if tool.path is not None:
        own["path"] = tool.path
    return resolved(tool, tool.name, tool.description, CHILD_PARAMETERS, own, config)


def _command(tool: CommandTool | ExternalTool, config: AgentConfig) -> Tool:
    own: dict[str, Any] = {}
    if isinstance(tool, CommandTool):
        own = {"argv": list(tool.argv), "env": list(tool.env), "timeoutSeconds": _seconds(tool, config)}
    return resolved(tool, tool.name, tool.description, tool.parameters or {"type": "object"}, own, config)


def _http(tool: HttpTool, config: AgentConfig) -> Tool:
    own = {"method": tool.method, "url": tool.url, "timeoutSeconds": _seconds(tool, config)}
    return resolved(tool, tool.name, tool.description, tool.parameters or {"type": "object"}, own, config)
