"""No reload, no edit and no rule ever loosens a call that was judged (security.md, Policy)."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from support.stories import completion, find, proposed, states
from support.world import CLIENT, World, agent, tool

from abey.core import events as e
from abey.core.agent import Agent
from abey.core.calls import base_disposition, isolation_of
from abey.core.effects import RunTool
from abey.core.policy import Floor, judge
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import Defer, Deny, Policy, Rule

TOOLS = (tool("run"), tool("ask"), tool("sh", command="x"))
WORDS = ["runSync", "runAsync", "defer", "defer", "deny", "runIsolated"]
CALLS = [("c1", "run", '{"x":"a"}'), ("c2", "ask", "{}"), ("c3", "sh", '{"x":"git log"}'), ("c4", "sh", '{"x":"rm y"}')]
NAMES = ["c1", "c2", "c3", "c4"]


def policy(words: list[str], default: str | None) -> Policy:
    matches = [None, None, {"/x": {"glob": "rm *"}}, {"/x": {"glob": "git *"}}]
    rules = [
        {"tool": name, "disposition": word, **({"match": match} if match else {})}
        for name, word, match in zip(("run", "ask", "sh", "sh"), words, matches, strict=True)
    ]
    return Policy.model_validate({"rules": rules, **({"default": default} if default else {})})


def remembered(name: str, word: str) -> Rule:
    said = {"ruleId": f"{name}-{word}", "tool": name, "disposition": word, "scope": "user"}
    return Rule.model_validate({**said, "origin": "o", "createdAt": "now", "uses": 0})


POLICIES = st.builds(
    policy, st.lists(st.sampled_from(WORDS), min_size=4, max_size=4), st.none() | st.sampled_from(WORDS)
)
RULES = st.builds(remembered, st.sampled_from(["run", "ask", "sh"]), st.sampled_from(["runSync", "deny"]))
STEPS = st.one_of(
    st.tuples(st.just("reload"), POLICIES),
    st.tuples(st.just("floor"), POLICIES),
    st.tuples(st.just("no floor"), st.none()),
    st.tuples(st.just("remember"), RULES),
    st.tuples(st.just("sandbox"), st.booleans()),
    st.tuples(st.just("drive"), st.none()),
    st.tuples(st.just("crash"), st.none()),
    st.tuples(st.just("approve"), st.sampled_from(NAMES)),
    st.tuples(st.just("edit"), st.sampled_from(NAMES)),
    st.tuples(st.just("forbid"), st.sampled_from(NAMES)),
    st.tuples(st.just("deny"), st.sampled_from(NAMES)),
    st.tuples(st.just("end"), st.none()),
)


@dataclass
class Story:
    """A world in which policies change, and what was first said of each of its calls."""

    world: World = field(
        default_factory=lambda: proposed(*CALLS, world=World(agent=agent(TOOLS, policy(WORDS[:4], None))))
    )
    first: dict[str, j.CallDecided] = field(default_factory=dict)

    def take(self, kind: str, value: object) -> None:
        world = self.world
        match kind, value:
            case "reload", Policy() as said:
                world.agent = agent(TOOLS, said)
            case "floor", Policy() as said:
                world.floors = (Floor("user", said),)
            case "no floor", _:
                world.floors = ()
            case "forbid", str() as name:
                # the policy has just come to deny everything, and somebody lets a call run
                world.agent = agent(TOOLS, policy(["deny"] * 4, None))
                self._answer("edit", name)
            case "remember", Rule() as rule:
                world.kept.append(rule)
                world.try_send(e.ChangeRules("apply", rule, CLIENT))
            case "sandbox", bool() as there:
                world.no_sandbox = None if there else "none"
            case "drive", _:
                world.try_send(e.Drive(e.STEP, CLIENT))
            case "crash", _:
                world.crash()
            case "end", _:
                self._end()
            case _, str() as name:
                self._answer(kind, name)
        self._check()

    def _answer(self, kind: str, name: str) -> None:
        call = find(self.world, name)
        if call.verdict is not None:
            edited = {"x": "rm z"} if kind == "edit" else None
            outcome = o.DenyCall() if kind == "deny" else o.Approve(arguments=edited)
            before = len(self.world.starts)
            judged = [
                judge(one, one.tools[call.tool], edited or {}, self.world.laws()) for one in self._judges(call.verdict)
            ]
            refused = self.world.try_send(completion(self.world, name, outcome))
            if kind == "edit" and any(isinstance(base_disposition(one.disposition), Deny) for one in judged):
                assert refused is not None or len(self.world.starts) == before

    def _judges(self, verdict: j.CallDecided) -> list[Agent]:
        return [self.world.agent, self.world.versions[verdict.config_hash]]

    def _end(self) -> None:
        running = [one for one in self.world.effects if isinstance(one, RunTool)]
        if running:
            self.world.tool_ends(running[0].tool.name)

    def _check(self) -> None:
        world = self.world
        started = [call_id for call_id, _ in world.starts]
        for name in NAMES:
            call = find(world, name)
            if call.verdict is not None:
                self.first.setdefault(name, call.verdict)
            if name not in self.first:
                assert name not in started
                continue
            base = base_disposition(self.first[name].disposition)
            if isinstance(base, Deny):
                assert (states(world)[name], name in started) == ("denied", False)
            if isinstance(base, Defer) and name in started:
                assert call.resolution is not None
                assert call.resolution.outcome.kind in ("approve", "rerun")
                assert call.resolution.rule_id in (None, f"{call.tool}-runSync")
        for effect in world.effects:
            if isinstance(effect, RunTool) and effect.call_id in self.first:
                asked = isolation_of(self.first[effect.call_id])
                assert asked is None or effect.isolation is not None


@settings(max_examples=250, deadline=None)
@given(POLICIES, st.none() | POLICIES, st.booleans(), st.lists(STEPS, min_size=2, max_size=10))
def test_nothing_that_comes_later_loosens_a_verdict(
    first: Policy, floor: Policy | None, sandbox: bool, steps: list[tuple[str, object]]
) -> None:
    story = Story()
    story.world.agent = agent(TOOLS, first)
    story.world.floors = (Floor("user", floor),) if floor else ()
    story.world.no_sandbox = None if sandbox else "none"
    story.take("drive", None)
    for kind, value in steps:
        story.take(kind, value)
