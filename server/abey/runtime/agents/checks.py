"""Does a well-formed agent make sense: names, rules, schemas, and what this version cannot do yet."""

import re
from collections.abc import Iterator
from typing import Any

from abey.core.policy import fits
from abey.protocol.config import (
    AgentConfig,
    AgentTool,
    AnyToolKind,
    CommandTool,
    ExecutablesTool,
    ExternalTool,
    HttpModel,
    HttpTool,
    McpTool,
    ScriptedModel,
    WorkspaceTool,
)
from abey.protocol.policy import AnyDisposition, Decorate, Policy
from abey.runtime.agents.findings import Fact, quoted
from abey.runtime.models.places import OURS, url_fault
from abey.runtime.tools.arguments import broken_schema
from abey.runtime.tools.placeholders import shell_parameters, undeclared

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def sense_facts(config: AgentConfig, raw: Any) -> list[Fact]:
    """Everything to say about `config`, whose JSON is `raw`."""
    key = next((key for key in ("toolCallPolicy", "toolCallPolicyConfig") if key in raw), "")
    return [
        *_model_facts(config.model),
        *_tool_facts(config),
        *_policy_facts(config, f"/{key}"),
        *_limit_facts(config),
        *_later_facts(config),
    ]


def command_of(tool: AnyToolKind) -> str | None:
    """The parameter that holds the command of a shell-like tool, None for any other tool."""
    if tool.shell is not None:
        return tool.shell
    handed = shell_parameters(tool.argv, tool.parameters) if isinstance(tool, CommandTool) else ()
    return handed[0] if handed else None


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
    seen: set[str] = set()
    for at, tool in enumerate(config.tools):
        pointer = f"/tools/{at}"
        name = getattr(tool, "name", None)
        if name in seen:
            yield Fact(f"{pointer}/name", "error", "duplicate-tool", f"two tools have the name {quoted(str(name))}")
        if name is not None and not _NAME.fullmatch(name):
            message = "most providers refuse a tool's name that is not 1 to 64 of A-Z a-z 0-9 _ -"
            yield Fact(f"{pointer}/name", "warning", "tool-name", message)
        seen.add(str(name))
        if not isinstance(tool, CommandTool | ExternalTool):
            yield Fact(pointer, "warning", "unsupported", _not_available(tool), on_key=True)
        if isinstance(tool, CommandTool | ExternalTool | HttpTool):
            yield from _schema_facts(tool, pointer)
        if isinstance(tool, CommandTool):
            yield from _argv_facts(tool, pointer)


def _not_available(tool: AnyToolKind) -> str:
    match tool:
        case ExecutablesTool():
            name = tool.directory
        case WorkspaceTool():
            name = ", ".join(tool.allow)
        case _:
            name = tool.name
    return f"tools of kind {tool.kind} are not available in this version: {quoted(name)} is left out"


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


def _policy_facts(config: AgentConfig, pointer: str) -> Iterator[Fact]:
    policy = config.tool_call_policy
    if policy is None:
        return
    for at, rule in enumerate(policy.rules):
        if not any(_may_name(rule.tool, name, exact) for tool in config.tools for name, exact in _names(tool)):
            message = f"no tool of this agent has a name like {quoted(rule.tool)}"
            yield Fact(f"{pointer}/rules/{at}/tool", "warning", "unmatched-rule", message)
        yield from _decorator_facts(rule.disposition, f"{pointer}/rules/{at}/disposition")
    if policy.default is not None:
        yield from _decorator_facts(policy.default, f"{pointer}/default")
    yield from _shell_facts(config, policy, pointer)


def _decorator_facts(disposition: AnyDisposition, pointer: str) -> Iterator[Fact]:
    if isinstance(disposition, Decorate):
        message = "decorators are kept but not applied yet"
        yield Fact(f"{pointer}/decorators", "warning", "unsupported", message, on_key=True)


def _shell_facts(config: AgentConfig, policy: Policy, pointer: str) -> Iterator[Fact]:
    """A hint for each tool whose every command runs unasked, at the rule or the default that says so."""
    for tool in config.tools:
        if not isinstance(tool, CommandTool) or command_of(tool) is None:
            continue
        wide = [at for at, rule in enumerate(policy.rules) if not rule.match and fits(rule.tool, tool.name)]
        disposition = policy.rules[wide[0]].disposition if wide else policy.default
        where = f"rules/{wide[0]}/disposition" if wide else "default"
        if disposition is not None and _runs(disposition):
            message = (
                f"every command that {quoted(tool.name)} is asked for runs, unless another rule defers or denies it"
            )
            yield Fact(f"{pointer}/{where}", "hint", "runs-everything", message)


def _runs(disposition: AnyDisposition) -> bool:
    inner = disposition.inner if isinstance(disposition, Decorate) else disposition
    return _runs(inner) if isinstance(inner, Decorate) else inner.tag in ("runSync", "runAsync")


def _names(tool: AnyToolKind) -> Iterator[tuple[str, bool]]:
    """The names that the model would see: (name, True), or (what they begin with, False)."""
    match tool:
        case CommandTool() | HttpTool() | ExternalTool() | AgentTool():
            yield tool.name, True
        case McpTool():
            yield f"mcp_{tool.name}_", False
        case ExecutablesTool():
            yield "bash_", False
        case WorkspaceTool():
            yield from ((name, True) for name in tool.allow)


def _may_name(pattern: str, name: str, exact: bool) -> bool:
    if exact:
        return fits(pattern, name)
    head = pattern.partition("*")[0]
    return head.startswith(name) or ("*" in pattern and name.startswith(head))


def _limit_facts(config: AgentConfig) -> Iterator[Fact]:
    plan = config.compaction
    if plan is not None and plan.keep_tokens >= plan.at_tokens:
        message = f"`keepTokens` must be less than `atTokens`, {plan.at_tokens}: else nothing is left to sum up"
        yield Fact("/compaction/keepTokens", "error", "compaction", message)
    if config.limits.max_cost is not None and config.model.prices is None:
        message = "without a price, here or in prices.json, a cost is known, and limited, only if the provider says it"
        yield Fact("/limits/maxCost", "warning", "no-prices", message, on_key=True)


def _later_facts(config: AgentConfig) -> Iterator[Fact]:
    """What is kept in the file for a later version."""
    kept = {
        "/outputSchema": config.output_schema,
    }
    for pointer, value in kept.items():
        if value is not None:
            name = pointer.rpartition("/")[2]
            message = f"{quoted(name)} is kept but not applied in this version"
            yield Fact(pointer, "warning", "unsupported", message, on_key=True)
