"""What happens to a call: the rules of agent-file.md, asked in their order, with the reasons kept."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from abey.core.agent import Agent, Tool
from abey.core.calls import base_disposition
from abey.protocol.base import Json
from abey.protocol.policy import AnyDisposition, Defer, Deny, Policy, PolicyRule, Rule, RunAsync, RunIsolated, RunSync

EXTERNAL_REASON = "only others can run it"

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Floor:
    """The policy of a `policy.json`; `layer` is whose it is: `user` or `workspace`."""

    layer: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Laws:
    """What has a say in a verdict beside the agent's own policy: floors, remembered rules of every scope, and the
    policies of the sessions whose child this one is."""

    floors: tuple[Floor, ...] = ()
    remembered: tuple[Rule, ...] = ()
    parents: tuple[Policy | None, ...] = ()


NO_LAWS = Laws()


@dataclass(frozen=True, slots=True)
class Link:
    """One rule that was asked: whether it matched, and why in a few words."""

    layer: str
    rule: PolicyRule | None
    matched: bool
    why: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a call. `rule` is the one that decided, None where a default did."""

    disposition: AnyDisposition
    rule: PolicyRule | None
    chain: tuple[Link, ...]

    @property
    def serial(self) -> bool:
        return bool(self.rule and self.rule.serial)

    @property
    def expire_seconds(self) -> int | None:
        base = base_disposition(self.disposition)
        of_disposition = base.expire_seconds if isinstance(base, Defer) else None
        return of_disposition or (self.rule.expire_seconds if self.rule else None)

    @property
    def reason(self) -> str | None:
        base = base_disposition(self.disposition)
        return base.reason if isinstance(base, Defer | Deny) else None


def judge(agent: Agent, tool: Tool, arguments: Json, laws: Laws = NO_LAWS) -> Judgement:  # noqa: ARG001
    """The verdict of the agent's policy on this call: any deny, then the first rule that matches, then the default."""
    judgement = _of_the_file(agent, tool, arguments)
    base = base_disposition(judgement.disposition)
    if tool.runnable or isinstance(base, Deny | Defer):
        return judgement
    # Whatever the policy says, nobody here can run it (agent-file.md, Tools).
    link = Link("tool", None, True, EXTERNAL_REASON)
    return Judgement(Defer(reason=EXTERNAL_REASON), judgement.rule, (*judgement.chain, link))


def _of_the_file(agent: Agent, tool: Tool, arguments: Json) -> Judgement:
    policy = agent.policy or Policy()
    chain = tuple(_ask(rule, tool, arguments) for rule in policy.rules)
    matched = [link for link in chain if link.matched and link.rule is not None]
    for link in matched:
        if link.rule is not None and isinstance(base_disposition(link.rule.disposition), Deny):
            return Judgement(link.rule.disposition, link.rule, chain)
    for link in matched:
        if link.rule is not None:
            return _first_match(link.rule, tool, chain)
    return _default(policy, tool, chain)


def strictness(disposition: AnyDisposition) -> int:
    """deny > defer > run: the greater number is the stricter."""
    match base_disposition(disposition):
        case Deny():
            return 3
        case RunIsolated():
            return 2
        case Defer():
            return 1
        case _:
            return 0


def _first_match(rule: PolicyRule, tool: Tool, chain: tuple[Link, ...]) -> Judgement:
    if _loosens(rule) and tool.command is not None and f"/{tool.command}" in (rule.match or {}):
        # A text match cannot tell one plain command from two; doubt defers (security.md, Policy).
        doubt = Defer(reason="a rule that matches a shell command cannot vouch for it")
        return Judgement(doubt, rule, chain)
    return Judgement(rule.disposition, rule, chain)


def _default(policy: Policy, tool: Tool, chain: tuple[Link, ...]) -> Judgement:
    if policy.default is not None:
        link = Link("agent", None, True, "the default of the agent file")
        return Judgement(policy.default, None, (*chain, link))
    if tool.destructive:
        link = Link("agent", None, True, "no default, and the tool is destructive")
        return Judgement(Defer(reason="the tool can change things"), None, (*chain, link))
    return Judgement(RunSync(), None, (*chain, Link("agent", None, True, "no default: runSync")))


def _ask(rule: PolicyRule, tool: Tool, arguments: Json) -> Link:
    if not fits(rule.tool, tool.name):
        return Link("agent", rule, False, f"the tool is not {rule.tool}")
    for pointer, wanted in (rule.match or {}).items():
        value = _at(arguments, pointer)
        if value is _MISSING:
            return Link("agent", rule, False, f"nothing at {pointer}")
        if not _matches(value, wanted, parts=_denies(rule) and pointer == f"/{tool.command}"):
            return Link("agent", rule, False, f"{pointer} is another value")
    return Link("agent", rule, True, f"the tool is {rule.tool}" + (", the arguments match" if rule.match else ""))


def _loosens(rule: PolicyRule) -> bool:
    return isinstance(base_disposition(rule.disposition), RunSync | RunAsync)


def _denies(rule: PolicyRule) -> bool:
    return isinstance(base_disposition(rule.disposition), Deny)


def _matches(value: Any, wanted: Json, *, parts: bool) -> bool:
    """Whether `value` is what the rule wants; with `parts`, whether any part of a shell command is."""
    if isinstance(wanted, list):
        return any(_matches(value, one, parts=parts) for one in wanted)
    candidates = [value, *_segments(value)] if parts else [value]
    if isinstance(wanted, dict) and set(wanted) == {"glob"}:
        return any(isinstance(text, str) and fits(str(wanted["glob"]), text) for text in candidates)
    return any(_same(one, wanted) for one in candidates)


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _segments(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part.strip() for part in re.split(r"[;|&\n(){}`<>$]+", value) if part.strip())


def fits(glob: str, text: str) -> bool:
    """Whether the text is what the glob says: each `*` stands for any characters, or none.

    In linear time: a model chooses the text.
    """
    first, *rest = glob.split("*")
    if not rest:
        return glob == text
    *middle, last = rest
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _at(value: Json, pointer: str) -> Any:
    """What the JSON pointer names in `value`, or _MISSING."""
    for step in pointer.split("/")[1:] if pointer else []:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _is_index(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return _MISSING
    return value


def _is_index(step: str) -> bool:
    """Python reads no number of thousands of digits, and no list is so long."""
    return step.isascii() and step.isdigit() and len(step) < 10
