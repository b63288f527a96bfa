"""What happens to a call: every policy that has a say, asked in the order of agent-file.md, with the reasons kept.

Laws
- A rule that denies is never outdone, whoever wrote it.
- Of two opinions the stricter wins: deny, then defer, then what runs; and what one of them isolates is isolated.
- A remembered rule takes the place of an agent file's defer, and of nothing else.
- What may be denied, for all that can be told, waits for somebody.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice

from abey.core.agent import Agent, Tool
from abey.core.calls import base_disposition
from abey.core.matching import AnyRule, Asked, Case, Link, denies
from abey.core.opinions import Opinion, loosened, opinion, stricter, strictness, within
from abey.core.paths import PATH_REASON
from abey.core.shell import Match, ReadCommand, unread
from abey.protocol.base import Json, sha256_hex
from abey.protocol.policy import AnyDisposition, Defer, Deny, Policy, PolicyRule, Rule, RunIsolated, RunSync
from abey.shared.values import dataclass, replace

__all__ = ["Floor", "Judgement", "Laws", "Link", "judge", "policy_hash", "strictness"]

EXTERNAL_REASON = "only others can run it"
DESTRUCTIVE_REASON = "the tool can change things"
UNCLEAR_REASON = "a rule that denies may be about it, and nobody can tell from the command"
DEFERS_REASON = "a rule that defers may be about it, and nobody can tell from the command"
ABOVE_REASON = "the policy of a session above this one defers it"
NOT_PLAIN_REASON = "a rule may be about a part of it, and lets only one plain command run"

_SCOPES = ("session", "workspace", "user")


@dataclass(frozen=True, slots=True)
class Floor:
    """The policy of a `policy.json`; `layer` is whose it is: `user` or `workspace`. `broken` says why nobody knows what
    it says, or what the remembered rules (`rule`) do: then no call runs by itself."""

    layer: str
    policy: Policy
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Laws:
    """What has a say in a verdict beside the agent's own policy: floors, remembered rules of every scope, and the
    policies of the sessions whose child this one is. `read` understands shell commands."""

    floors: tuple[Floor, ...] = ()
    remembered: tuple[Rule, ...] = ()
    parents: tuple[Policy | None, ...] = ()
    read: ReadCommand = unread


NO_LAWS = Laws()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a call. `rule` is the one that decided, None where a default did; `isolation` the sandbox that it
    runs in, also if somebody has to let it run."""

    disposition: AnyDisposition
    rule: AnyRule | None
    chain: tuple[Link, ...]
    serial: bool = False
    expire_seconds: int | None = None
    isolation: RunIsolated | None = None

    @property
    def reason(self) -> str | None:
        base = base_disposition(self.disposition)
        return base.reason if isinstance(base, Defer | Deny) else None


def judge(agent: Agent, tool: Tool, arguments: Json, laws: Laws = NO_LAWS) -> Judgement:
    """The verdict of all the policies on this call."""
    case = Case.of(tool, arguments, laws.read)
    asked = [case.ask(layer, rule) for layer, rule in _rules(agent, laws)]
    chain = [one.link for one in asked]
    for one in asked:
        if one.match is Match.YES and denies(one.rule):
            return Judgement(one.rule.disposition, one.rule, tuple(chain))
    opinions = [*_opinions(agent, tool, laws, asked)]
    final = reduce(stricter, opinions)
    return Judgement(
        disposition=final.disposition,
        rule=final.rule,
        chain=(*chain, *[one.link for one in opinions if one.link is not None]),
        serial=final.serial,
        expire_seconds=final.expire_seconds,
        isolation=final.isolation,
    )


def policy_hash(agent: Agent, laws: Laws) -> str:
    """The hash of everything that has a say, in its order; that of the agent's own policy where nothing else does."""
    if not (laws.floors or laws.remembered or laws.parents):
        return agent.policy_hash
    floors = [[one.layer, one.policy.wire(), one.broken] for one in laws.floors]
    remembered = [{**one.wire(), "uses": 0} for one in _narrowest_first(laws.remembered)]
    parents = [one.wire() if one is not None else None for one in laws.parents]
    return sha256_hex([agent.policy_hash, floors, remembered, parents])


def _rules(agent: Agent, laws: Laws) -> Iterator[tuple[str, AnyRule]]:
    for remembered in _narrowest_first(laws.remembered) if laws.remembered else ():
        yield "rule", remembered
    for rule in _rules_of(agent.policy):
        yield "agent", rule
    for floor in laws.floors:
        for rule in floor.policy.rules:
            yield floor.layer, rule
    for policy in laws.parents:
        for rule in _rules_of(policy):
            yield "parent", rule


def _rules_of(policy: Policy | None) -> tuple[PolicyRule, ...]:
    return policy.rules if policy is not None else ()


def _narrowest_first(rules: Iterable[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: (_SCOPES.index(rule.scope), "*" in rule.tool, -len(rule.match or {})))


def _opinions(agent: Agent, tool: Tool, laws: Laws, asked: Sequence[Asked]) -> Iterator[Opinion]:
    """What each says who has a say; the agent's own policy first. None of them denies by a rule."""
    rest = iter(asked)
    remembered = _next(rest, laws.remembered)
    own = _whole(agent.policy, "agent", tool, _next(rest, _rules_of(agent.policy)))
    mine = loosened(own, _first(remembered)) if remembered else own
    yield mine
    if remembered:
        yield from _unsure("rule", tool, [one for one in remembered if _defers(one.rule)])
    for floor in laws.floors:
        yield from _of_floor(floor, tool, _next(rest, floor.policy.rules))
    for policy in laws.parents:
        above = _whole(policy, "parent", tool, _next(rest, _rules_of(policy)))
        yield above if isinstance(base_disposition(mine.disposition), Defer) else _from_above(above)
    if any(one.match is Match.MAYBE and denies(one.rule) for one in asked):
        yield _deferred("tool", _doubt(tool, UNCLEAR_REASON))
    if not tool.runnable:
        # Whatever the policy says, nobody here can run it (agent-file.md, Tools).
        yield _deferred("tool", EXTERNAL_REASON)


def _next(asked: Iterator[Asked], rules: Sequence[AnyRule]) -> list[Asked]:
    """The answers of these rules, which are the next ones."""
    return [*islice(asked, len(rules))]


def _whole(policy: Policy | None, layer: str, tool: Tool, asked: Sequence[Asked]) -> Opinion:
    """What a policy says that has to say something: its first rule that matches, else its default."""
    found = _first(asked) or _default(policy, layer) or _without_default(layer, tool)
    for doubt in _unsure(layer, tool, asked):
        found = stricter(found, doubt)
    return found


def _from_above(said: Opinion) -> Opinion:
    """The same; who looks at a call that waits, and finds nothing in its agent file that says so, is told who does."""
    base = base_disposition(said.disposition)
    if not isinstance(base, Defer):
        return said
    reason = f"{ABOVE_REASON}: {base.reason}" if base.reason else ABOVE_REASON
    return replace(said, disposition=within(said.disposition, base.model_copy(update={"reason": reason})))


def _of_floor(floor: Floor, tool: Tool, asked: Sequence[Asked]) -> Iterator[Opinion]:
    """Nothing, where nothing in it is about the call."""
    if floor.broken is not None:
        yield _deferred(floor.layer, floor.broken)
        return
    found = _first(asked) or _default(floor.policy, floor.layer)
    if found is not None:
        yield found
    yield from _unsure(floor.layer, tool, asked)


def _first(asked: Sequence[Asked]) -> Opinion | None:
    for one in asked:
        if one.match is Match.YES:
            return opinion(one.rule.disposition, one.rule)
    return None


def _unsure(layer: str, tool: Tool, asked: Iterable[Asked]) -> Iterator[Opinion]:
    """One that the call waits, where a rule before the first that matches may match, too."""
    for one in asked:
        if one.match is Match.YES:
            return
        if one.match is Match.MAYBE and not denies(one.rule):
            yield _deferred(layer, _doubt(tool, DEFERS_REASON if _defers(one.rule) else NOT_PLAIN_REASON))
            return


def _defers(rule: AnyRule) -> bool:
    return isinstance(base_disposition(rule.disposition), Defer)


def _default(policy: Policy | None, layer: str) -> Opinion | None:
    if policy is None or policy.default is None:
        return None
    whose = "the agent file" if layer == "agent" else f"the policy of the {layer}"
    return opinion(policy.default, link=Link(layer, None, True, f"the default of {whose}"))


def _without_default(layer: str, tool: Tool) -> Opinion:
    if tool.destructive:
        told = Link(layer, None, True, "no default, and the tool is destructive")
        return opinion(Defer(reason=DESTRUCTIVE_REASON), link=told)
    return opinion(RunSync(), link=Link(layer, None, True, "no default: runSync"))


def _doubt(tool: Tool, of_command: str) -> str:
    return PATH_REASON if tool.kind == "workspace" else of_command


def _deferred(layer: str, reason: str) -> Opinion:
    return opinion(Defer(reason=reason), link=Link(layer, None, True, reason))
