"""What a rule does, told by the code that judges the calls (agent-file.md, Policy)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from abey.core.agent import Agent
from abey.core.globs import fits
from abey.core.pointers import steps_of
from abey.core.policy import Judgement, Laws, judge
from abey.language.agent_files.layout import written
from abey.language.agent_files.markup import Markup
from abey.protocol.agent_file_words import WORDS
from abey.protocol.base import Json
from abey.protocol.config import AnyToolKind
from abey.protocol.policy import AnyDisposition, Decorate, Defer, Deny, Policy, PolicyRule
from abey.runtime.agents.naming import offered_by, shown_name

MOST_TOOLS = 20

_OTHERS = {
    "rule": "a remembered rule",
    "user": "your policy.json",
    "workspace": "the policy.json of the workspace",
    "parent": "the policy of the session that started it",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a call of `tool` with `arguments`; `rule` of the file decides, None where none does, and
    `elsewhere` says where the rule is that does then."""

    tool: str
    arguments: Json
    disposition: AnyDisposition
    rule: int | None
    elsewhere: str | None


def verdicts(agent: Agent, laws: Laws, at: int) -> Iterator[Verdict]:
    """For each tool that rule `at` fits, what happens to a call that it matches."""
    rules = agent.policy.rules if agent.policy else ()
    for tool in agent.tools.values():
        if fits(rules[at].tool, tool.name):
            arguments = example(rules[at])
            judgement = judge(agent, tool, arguments, laws)
            decided = next((n for n, rule in enumerate(rules) if rule is judgement.rule), None)
            elsewhere = _elsewhere(judgement) if decided is None else None
            yield Verdict(tool.name, arguments, judgement.disposition, decided, elsewhere)


def _elsewhere(judgement: Judgement) -> str | None:
    """Whose rule or default decides, where it is none of the file."""
    layers = [link.layer for link in judgement.chain if link.rule is judgement.rule and link.matched]
    return _OTHERS.get(layers[-1]) if layers else None


def decides(agent: Agent | None, laws: Laws, name: str, word: str, at: int | None = None) -> bool:
    """Whether a call of this tool comes to `word` if a rule for all its calls says so, in the place of rule `at` or
    before all others; nobody can tell of a file with errors, or of a tool that is not known."""
    tool = agent.tools.get(name) if agent else None
    if agent is None or tool is None:
        return True
    policy = agent.policy or Policy()
    rule = PolicyRule.model_validate({"tool": name, "disposition": word})
    others = policy.rules if at is None else policy.rules[at + 1 :]
    rules = (*policy.rules[: at or 0], rule, *others)
    changed = replace(agent, policy=policy.model_copy(update={"rules": rules}))
    return judge(changed, tool, {}, laws).disposition.tag == word


def example(rule: PolicyRule) -> Json:
    """Arguments that the rule matches."""
    made: dict[str, Any] = {}
    for pointer, wanted in (rule.match or {}).items():
        steps = steps_of(pointer)
        if not steps:
            return _value(wanted)
        inner = made
        for step in steps[:-1]:
            below = inner.setdefault(step, {})
            inner[step] = inner = below if isinstance(below, dict) else {}
        inner[steps[-1]] = _value(wanted)
    return made


def explained(agent: Agent, laws: Laws, at: int, tools: Iterable[AnyToolKind], show: Markup) -> Iterator[str]:
    """The rule in paragraphs."""
    rules = agent.policy.rules if agent.policy else ()
    yield show.strong(f"Rule {at + 1} of {len(rules)}") + f", for {show.code(rules[at].tool)}"
    found = list(verdicts(agent, laws, at))
    if found:
        yield "\n".join(f"- {_line(verdict, at, show)}" for verdict in found[:MOST_TOOLS])
    if len(found) > MOST_TOOLS:
        yield f"and {len(found) - MOST_TOOLS} more tools"
    _, unknown = offered_by(tools).fitting(rules[at].tool)
    if unknown:
        offered = ", ".join(show.code(shown_name(tool)) for tool in unknown)
        yield f"Not listed yet, and so not checked: the tools of {offered}"
    elif not found:
        yield "It fits no tool of this file that the model sees."


def told(disposition: AnyDisposition, show: Markup) -> str:
    """A disposition, what it means, and its own reason."""
    base = disposition.inner if isinstance(disposition, Decorate) else disposition
    reason = base.reason if isinstance(base, Defer | Deny) else None
    more = f" ({show.code(reason)})" if reason else ""
    return f"{show.code(base.tag)}{more}. {WORDS[base.tag]}"


def _line(verdict: Verdict, at: int, show: Markup) -> str:
    call = show.code(verdict.tool)
    if verdict.arguments != {}:
        call += f" with {show.code(written(verdict.arguments))}"
    if verdict.rule is not None and verdict.rule != at:
        return f"{call}: rule {verdict.rule + 1} decides instead, {told(verdict.disposition, show)}"
    if verdict.elsewhere is not None:
        return f"{call}: {verdict.elsewhere} decides instead, {told(verdict.disposition, show)}"
    return f"{call}: {told(verdict.disposition, show)}"


def _value(wanted: Json) -> Json:
    """A value that a match wants."""
    if isinstance(wanted, list):
        return _value(wanted[0]) if wanted else None
    if isinstance(wanted, dict) and set(wanted) == {"glob"}:
        return str(wanted["glob"]).replace("*", "")
    return wanted
