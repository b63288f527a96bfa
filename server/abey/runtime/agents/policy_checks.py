"""Does a policy make sense for the tools of its agent: rules that match nothing, come too late, or run everything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from abey.core.agent import ISOLABLE
from abey.core.calls import base_disposition
from abey.core.globs import fits
from abey.core.pointers import steps_of
from abey.protocol.config import (
    AgentConfig,
    AnyToolKind,
    CommandTool,
    ExecutablesTool,
    ExternalTool,
    McpTool,
    WorkspaceTool,
)
from abey.protocol.policy import AnyDisposition, Decorate, Policy, PolicyRule, RunIsolated
from abey.runtime.agents.findings import Fact, quoted
from abey.runtime.agents.jsonc import child
from abey.runtime.agents.naming import Offered, command_of, nearest, offered_by, shown_name
from abey.runtime.agents.reach import may_hold, shadow
from abey.runtime.extending.loading import any_installed
from abey.runtime.tools.placeholders import shell_argument
from abey.runtime.tools.shell import is_plain_command

MOST_TOOLS = 100
"""Of a rule that fits more, the arguments are not compared with every schema."""


def policy_facts(config: AgentConfig, pointer: str) -> Iterator[Fact]:
    """Everything to say about the policy, which the file has at `pointer`."""
    policy = config.tool_call_policy
    if policy is None:
        return
    offered = offered_by(config.tools)
    commands = frozenset(f"/{command}" for command in map(command_of, config.tools) if command)
    for at in range(len(policy.rules)):
        yield from _rule_facts(offered, commands, policy.rules, at, f"{pointer}/rules")
    yield from _shell_facts(config, policy, pointer)
    for at, rule in enumerate(policy.rules):
        yield from _never_plain(config, rule, f"{pointer}/rules/{at}/match")
        yield from _never_isolated(offered, rule.tool, rule.disposition, f"{pointer}/rules/{at}/disposition")
    if policy.default is not None:
        yield from _never_isolated(offered, "*", policy.default, f"{pointer}/default")


def _rule_facts(
    offered: Offered, commands: frozenset[str], rules: Sequence[PolicyRule], at: int, pointer: str
) -> Iterator[Fact]:
    rule = rules[at]
    names, unknown = offered.fitting(rule.tool)
    if not names and not unknown:
        yield _unmatched(rule, offered, f"{pointer}/{at}/tool")
        return
    takers = shadow(rules, at, names, all_known=not unknown, commands=commands)
    if takers:
        message = f"this rule never decides: {_take(takers)} every call that it matches"
        yield Fact(f"{pointer}/{at}", "warning", "shadowed-rule", message, related=f"{pointer}/{takers[0]}")
    if not unknown:
        yield from _match_facts(rule, {name: offered.known[name] for name in names}, f"{pointer}/{at}")
    elif not names:
        yield _not_checked(unknown, f"{pointer}/{at}/tool")


def _unmatched(rule: PolicyRule, offered: Offered, pointer: str) -> Fact:
    near = nearest(rule.tool, offered.known)
    if near is None and any_installed():
        return Fact(pointer, "information", "not-checked", "not checked: an extension may have a tool of this name")
    guess = f"; did you mean {quoted(near)}" if near else ""
    message = f"no tool of this agent has a name like {quoted(rule.tool)}{guess}"
    return Fact(pointer, "warning", "unmatched-rule", message, replacement=near)


def _not_checked(unknown: list[AnyToolKind], pointer: str) -> Fact:
    """Nothing is started in order to find out."""
    names = ", ".join(dict.fromkeys(quoted(shown_name(tool)) for tool in unknown))
    message = f"not checked: the tools of {names} have not been listed yet"
    return Fact(pointer, "information", "not-checked", message)


def _match_facts(rule: PolicyRule, tools: Mapping[str, AnyToolKind], pointer: str) -> Iterator[Fact]:
    """What no tool that the rule fits can be asked for."""
    if len(tools) > MOST_TOOLS:
        return
    schemas = [getattr(tool, "parameters", True) for tool in tools.values()]
    names = ", ".join(map(quoted, tools))
    for key, wanted in (rule.match or {}).items():
        steps = steps_of(key)
        at = child(f"{pointer}/match", key)
        if not any(may_hold(schema, steps, wanted) for schema in schemas):
            message = f"this never matches: by its parameters, {names} cannot have this at {quoted(key)}"
            yield Fact(at, "warning", "impossible-match", message, on_key=True)
        elif not any(may_hold(schema, steps, wanted, unnamed=False) for schema in schemas):
            near = _near_argument(steps, schemas)
            guess = f"; did you mean {quoted(near)}" if near else ""
            message = f"the parameters of {names} name no argument {quoted(key)}{guess}"
            yield Fact(at, "warning", "unnamed-argument", message, on_key=True, replacement=near)


def _near_argument(steps: Sequence[str], schemas: Sequence[Any]) -> str | None:
    """The pointer that was meant, where only its first step is wrong."""
    properties = [schema.get("properties") for schema in schemas if isinstance(schema, Mapping)]
    named = [name for one in properties if isinstance(one, Mapping) for name in one]
    near = nearest(steps[0], named) if steps and steps[0] not in named else None
    pointer = ""
    for step in (near, *steps[1:]) if near else ():
        pointer = child(pointer, step)
    return pointer or None


def _shell_facts(config: AgentConfig, policy: Policy, pointer: str) -> Iterator[Fact]:
    """A hint for each tool whose every command runs unasked, at the rule or the default that says so."""
    for tool in config.tools:
        if command_of(tool) is None or isinstance(tool, McpTool | ExecutablesTool | WorkspaceTool | ExternalTool):
            continue
        wide = [at for at, rule in enumerate(policy.rules) if not rule.match and fits(rule.tool, tool.name)]
        disposition = policy.rules[wide[0]].disposition if wide else policy.default
        where = f"rules/{wide[0]}/disposition" if wide else "default"
        if disposition is not None and _runs(disposition):
            message = (
                f"every command that {quoted(tool.name)} is asked for runs, unless another rule defers or denies it"
            )
            yield Fact(f"{pointer}/{where}", "hint", "runs-everything", message)


def _never_plain(config: AgentConfig, rule: PolicyRule, pointer: str) -> Iterator[Fact]:
    """Of a rule that lets commands run: what can be none that it lets run."""
    tools = [tool for tool in config.tools if isinstance(tool, CommandTool) and fits(rule.tool, tool.name)]
    for tool in tools if _runs(rule.disposition) else ():
        key = f"/{command_of(tool)}"
        wanted = (rule.match or {}).get(key)
        handed = shell_argument(tool.argv, tool.parameters or {})
        texts = [_glob(one) or one for one in (wanted if isinstance(wanted, list) else [wanted])]
        strange = next((text for text in texts if isinstance(text, str) and not is_plain_command(text)), None)
        if wanted is not None and handed is not None and handed != f"{{{command_of(tool)}}}":
            message = f"this lets nothing run: {quoted(tool.name)} hands its shell more than the command"
            yield Fact(child(pointer, key), "warning", "never-plain", message, on_key=True)
        elif strange is not None:
            message = f"this lets nothing run: {quoted(strange)} is not one plain command"
            yield Fact(child(pointer, key), "warning", "never-plain", message, on_key=True)


def _never_isolated(offered: Offered, pattern: str, disposition: AnyDisposition, pointer: str) -> Iterator[Fact]:
    """Of a rule that isolates calls: that no tool which it fits can run so, and every call waits."""
    names, unknown = offered.fitting(pattern)
    kinds = {tool.kind for tool in (*unknown, *(offered.known[name] for name in names))} - {"external"}
    if kinds and kinds.isdisjoint(ISOLABLE) and isinstance(base_disposition(disposition), RunIsolated):
        told = ", ".join(sorted(kinds))
        message = f"this lets nothing run: tools of kind {told} are no programs that a sandbox could be put around"
        yield Fact(pointer, "warning", "never-isolated", message)


def _glob(wanted: Any) -> str | None:
    """A text that the pattern fits."""
    found = wanted.get("glob") if isinstance(wanted, dict) and len(wanted) == 1 else None
    return found.replace("*", "x") if isinstance(found, str) else None


def _runs(disposition: AnyDisposition) -> bool:
    inner = disposition.inner if isinstance(disposition, Decorate) else disposition
    return _runs(inner) if isinstance(inner, Decorate) else inner.tag in ("runSync", "runAsync")


def _take(rules: tuple[int, ...]) -> str:
    """Rules as people count them, and what they do."""
    named = ", ".join(str(at + 1) for at in rules)
    return f"rule {named} takes" if len(rules) == 1 else f"rules {named} take"
