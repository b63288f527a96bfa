"""Does a well-formed agent make sense: names, rules, schemas, and what this version cannot do yet."""

import re
from collections.abc import Iterator
from typing import Any

from abey.protocol.config import (
    AgentConfig,
    AnyToolKind,
    CommandTool,
    ExternalTool,
    HttpModel,
    HttpTool,
    ScriptedModel,
)
from abey.runtime.agents.findings import Fact, quoted
from abey.runtime.agents.naming import nearest, shown_name
from abey.runtime.agents.policy_checks import policy_facts
from abey.runtime.agents.tools import AVAILABLE
from abey.runtime.models.places import OURS, url_fault
from abey.runtime.tools.arguments import broken_schema, schema_fault
from abey.runtime.tools.http.request import url_template_fault
from abey.runtime.tools.mcp.extra import is_installed, no_extra
from abey.runtime.tools.placeholders import handed_on, shell_parameters, undeclared

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def sense_facts(config: AgentConfig, raw: Any) -> list[Fact]:
    """Everything to say about `config`, whose JSON is `raw`."""
    key = next((key for key in ("toolCallPolicy", "toolCallPolicyConfig") if key in raw), "")
    return [
        *_model_facts(config.model),
        *_tool_facts(config),
        *policy_facts(config, f"/{key}"),
        *_limit_facts(config),
        *_output_facts(config),
    ]


def _model_facts(model: HttpModel | ScriptedModel) -> Iterator[Fact]:
    if not isinstance(model, HttpModel):
        return
    fault = url_fault(model.base_url) if model.base_url is not None else None
    if fault is not None:
        yield Fact("/model/baseUrl", "error", "invalid-value", fault)
    for name in model.parameters:
        if name in OURS:
            message = f"{quoted(name)} is not a parameter: it is made of the session, and this one is left out"
            yield Fact(f"/model/parameters/{name}", "warning", "unsupported", message, on_key=True)


def _tool_facts(config: AgentConfig) -> Iterator[Fact]:
    seen: dict[str, str] = {}
    for at, tool in enumerate(config.tools):
        pointer = f"/tools/{at}"
        yield from _name_facts(tool, pointer, seen)
        if tool.kind == "mcp" and not is_installed():
            message = f"{no_extra()}; {quoted(shown_name(tool))} is left out"
            yield Fact(pointer, "warning", "unsupported", message, on_key=True)
        if tool.kind not in AVAILABLE:
            message = (
                f"tools of kind {tool.kind} are not available in this version: {quoted(shown_name(tool))} is left out"
            )
            yield Fact(pointer, "warning", "unsupported", message, on_key=True)
        if isinstance(tool, CommandTool | ExternalTool | HttpTool):
            yield from _schema_facts(tool, pointer)
        if isinstance(tool, CommandTool):
            yield from _argv_facts(tool, pointer)
            yield from _shell_facts(tool, pointer)
        if isinstance(tool, HttpTool):
            yield from _url_facts(tool, pointer)


def _name_facts(tool: AnyToolKind, pointer: str, seen: dict[str, str]) -> Iterator[Fact]:
    """`seen` are the names of the tools before it, and where they stand."""
    names = [(name, f"/allow/{at}") for at, name in enumerate(getattr(tool, "allow", ()))]
    for name, where in names or [(getattr(tool, "name", None), "/name")]:
        if name is None:
            continue
        if name in seen:
            message = f"two tools have the name {quoted(str(name))}"
            yield Fact(f"{pointer}{where}", "error", "duplicate-tool", message, related=seen[name])
        if not _NAME.fullmatch(name):
            message = "most providers refuse a tool's name that is not 1 to 64 of A-Z a-z 0-9 _ -"
            yield Fact(f"{pointer}{where}", "warning", "tool-name", message)
        seen.setdefault(name, f"{pointer}{where}")


def _schema_facts(tool: CommandTool | ExternalTool | HttpTool, pointer: str) -> Iterator[Fact]:
    broken = broken_schema(tool.parameters)
    if broken is not None:
        yield Fact(f"{pointer}/parameters", "warning", "broken-schema", broken)
    elif tool.parameters.get("type", "object") != "object":
        message = 'arguments are always an object: `"type"` has to be `"object"`'
        yield Fact(f"{pointer}/parameters", "warning", "broken-schema", message)


def _argv_facts(tool: CommandTool, pointer: str) -> Iterator[Fact]:
    for at, name in undeclared(tool.argv, tool.parameters):
        message = f"`{{{name}}}` is passed as it stands: the parameters have no property {quoted(name)}"
        yield Fact(f"{pointer}/argv/{at}", "warning", "placeholder", message)
    handed = shell_parameters(tool.argv, tool.parameters)
    if len(handed) > 1:
        names = ", ".join(map(quoted, handed))
        message = f"a shell parses {names} together; rules read only {quoted(handed[0])} as a command"
        yield Fact(f"{pointer}/argv", "warning", "placeholder", message)
    elsewhere = handed_on(tool.argv, tool.parameters)
    if elsewhere is not None and not handed and tool.shell is None:
        at, name = elsewhere
        message = f'{quoted(name)} is parsed by a shell: say `"shell": "{name}"`, or rules read it as any other text'
        yield Fact(f"{pointer}/argv/{at}", "warning", "placeholder", message)


def _url_facts(tool: HttpTool, pointer: str) -> Iterator[Fact]:
    fault = url_template_fault(tool.url)
    if fault is not None:
        yield Fact(f"{pointer}/url", "error", "invalid-value", fault)
    for _, name in undeclared((tool.url,), tool.parameters):
        message = f"`{{{name}}}` is asked for as it stands: the parameters have no property {quoted(name)}"
        yield Fact(f"{pointer}/url", "warning", "placeholder", message)


def _shell_facts(tool: CommandTool, pointer: str) -> Iterator[Fact]:
    named = tool.parameters.get("properties")
    if tool.shell is not None and isinstance(named, dict) and tool.shell not in named:
        near = nearest(tool.shell, named)
        guess = f"; did you mean {quoted(near)}" if near else ""
        message = f"no command is there to be read: the parameters have no property {quoted(tool.shell)}{guess}"
        yield Fact(f"{pointer}/shell", "warning", "placeholder", message, replacement=near)


def _limit_facts(config: AgentConfig) -> Iterator[Fact]:
    plan = config.compaction
    if plan is not None and plan.keep_tokens >= plan.at_tokens:
        message = f"`keepTokens` must be less than `atTokens`, {plan.at_tokens}: else nothing is left to sum up"
        yield Fact("/compaction/keepTokens", "error", "compaction", message)
    if config.limits.max_cost is not None and config.model.prices is None:
        message = "without a price, here or in prices.json, a cost is known, and limited, only if the provider says it"
        yield Fact("/limits/maxCost", "warning", "no-prices", message, on_key=True)


def _output_facts(config: AgentConfig) -> Iterator[Fact]:
    """A broken schema is one that no answer can fit: an agent with it could not end a turn."""
    fault = schema_fault(config.output_schema) if config.output_schema is not None else None
    if fault is not None:
        yield Fact(f"/outputSchema{fault.pointer}", "error", "output-schema", f"the schema {fault.message}")
