"""Arbitrary events, legal or not, with crashes in between: the invariants hold after each."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import seeds
from support.forks import forked, issued, legal_revisions, told
from support.records import read_by_a_model
from support.seeds import planted
from support.world import CLIENT, KID, TOOLS, World, agent, answer, text_parts, tool

from abey.core import events as e
from abey.core.call import Call
from abey.core.children import working
from abey.core.completing import LEGAL, pending_kind
from abey.core.conversation import CallRuling, ModelAnswer, ToolOutcome
from abey.core.effects import AskModel, EndChild, RunTool
from abey.core.hashes import shown_hash
from abey.core.history import history
from abey.core.lines import at
from abey.core.machine import Machine, Work
from abey.core.records import record_of
from abey.core.remembering import made
from abey.core.replay import fold, recover
from abey.core.resting import rests
from abey.core.seed_reading import seed_of
from abey.core.session import AnswerEntry, InputEntry, Session, open_calls
from abey.core.transition import transition
from abey.errors import AbeyError
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.config import Compaction
from abey.protocol.policy import AskedRule, RunIsolated
from abey.protocol.rulings import Tripwire
from abey.protocol.session import Usage
from abey.protocol.transcript import Question
from abey.runtime.models.strictness import fault_of

NAMES = [*(one.name for one in TOOLS), "kid", "kid", "gone"]
RUNS = [e.STEP, e.UNTIL_YIELD, e.UNTIL_TURN, e.THIS_TURN, e.Run(max_steps=2), e.Run(synchronous=True)]
ARGUMENTS = st.sampled_from(["{}", '{"x":"1"}', '{"x":1}', "not json", "[]", "", '{"x":"\\ud83d"}'])
IDS = st.sampled_from(["c1", "c2", "c3", "c4", "c5", "c6", ""])
ASKED = st.tuples(IDS, st.sampled_from(NAMES), ARGUMENTS)
CALLS = st.one_of(
    st.lists(ASKED, max_size=4),
    st.lists(
        st.tuples(IDS, st.sampled_from(NAMES[:-1]), st.just("{}")), min_size=1, max_size=4, unique_by=lambda c: c[0]
    ),
)
LEGAL_OUTCOMES = [
    o.Approve(),
    o.Approve(arguments={"x": "edited"}),
    o.Approve(arguments={"x": 3}),
    o.DenyCall(message="no"),
    o.Result(content={"b": 1, "a": None}),
    o.Error(message="bad"),
    o.Answer(value=True),
    o.Answer(value=False),
    o.CancelCall(),
    o.Rerun(),
]
OUTCOMES = st.sampled_from(LEGAL_OUTCOMES)
RULED = st.sampled_from(["runSync", "runAsync", "deny"])
RULINGS = st.sampled_from(["deny", "approval", "response"])
SEEDED = seeds.said("seeded")
ASKS = seeds.answered(*(seeds.call(f"c{index}", name) for index, name in enumerate(("run", "safe", "ext", "no"))))
HALF = seeds.results(seeds.done("c0"))
SEEDS = [[], [SEEDED], [SEEDED, ASKS], [SEEDED, ASKS, HALF]]
ACTIONS = st.one_of(
    st.tuples(st.just("go"), CALLS),
    st.tuples(st.just("go"), CALLS),
    st.tuples(st.just("go"), CALLS),
    st.tuples(st.just("drive"), st.sampled_from(RUNS), st.booleans()),
    st.tuples(st.just("send"), st.sampled_from(["turn", "queue", "interrupt"]), st.sampled_from([None, *RUNS])),
    st.tuples(st.just("send"), st.sampled_from(["turn", "queue", "interrupt"]), st.sampled_from([None, *RUNS])),
    st.tuples(st.just("send again"), st.integers(0, 9)),
    st.tuples(st.just("withdraw"), st.integers(0, 9)),
    st.tuples(st.just("continue"), st.sampled_from([None, *RUNS])),
    st.tuples(st.just("model"), CALLS),
    st.tuples(st.just("model"), CALLS),
    st.tuples(st.just("ruled"), CALLS, st.lists(st.tuples(st.integers(0, 3), RULINGS), min_size=1, max_size=3)),
    st.tuples(st.just("ruled"), CALLS, st.lists(st.tuples(st.integers(0, 3), RULINGS), min_size=1, max_size=3)),
    st.tuples(st.just("trip"), st.sampled_from(["step", "step", "session"])),
    st.tuples(st.just("model-fails"), st.sampled_from(["auth", "transient", "content-policy"])),
    st.tuples(st.just("tool"), st.integers(0, 5), st.booleans()),
    st.tuples(st.just("tool"), st.integers(0, 5), st.booleans()),
    st.tuples(st.just("complete"), st.integers(0, 19), OUTCOMES, st.booleans(), st.booleans()),
    st.tuples(st.just("complete"), st.integers(0, 19), OUTCOMES, st.booleans(), st.booleans()),
    st.tuples(st.just("question"), st.integers(0, 5)),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("stop"), st.integers(0, 5)),
    st.tuples(st.just("pause")),
    st.tuples(st.just("aborted"), st.integers(0, 5)),
    st.tuples(st.just("grace")),
    st.tuples(st.just("late"), st.integers(0, 30)),
    st.tuples(st.just("time"), st.sampled_from([1000, 61_000])),
    st.tuples(st.just("crash")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("rewind"), st.integers(0, 200)),
    st.tuples(st.just("rewind"), st.integers(0, 200)),
    st.tuples(st.just("seed"), st.sampled_from(SEEDS)),
    st.tuples(st.just("reload"), st.sampled_from(["as it was", "other tools", "sums up", "fits"])),
    st.tuples(st.just("drain"), st.booleans()),
    st.tuples(st.just("sandbox"), st.booleans()),
    st.tuples(st.just("isolate"), st.booleans()),
    st.tuples(st.just("rule"), st.sampled_from(["add", "remove", "apply", "always"]), st.sampled_from(NAMES), RULED),
    st.tuples(st.just("child"), st.integers(0, 5), st.sampled_from(["rests", "ends", "fails", "ends unheard"])),
    st.tuples(st.just("child"), st.integers(0, 5), st.sampled_from(["rests", "ends", "fails", "ends unheard"])),
)


VERSIONS = {
    "as it was": agent((*TOOLS, KID)),
    "other tools": agent((tool("run", idempotent=True), *TOOLS[1:], replace(KID, hash="another"))),
    "sums up": replace(agent((*TOOLS, KID)), compaction=Compaction(at_tokens=40, keep_tokens=20)),
    "fits": replace(agent((*TOOLS, KID)), output_schema={"type": "object", "required": ["x"]}),
}


def play(world: World, action: Any, seen: list[str]) -> None:
    match action:
        case ("go", calls):
            go(world, calls, seen)
        case ("drive", run, resume):
            world.try_send(e.Drive(run, CLIENT, resume=resume))
        case ("send", delivery, run):
            world.try_send(e.Send(e.NewInput(text_parts("more"), delivery=delivery), run, CLIENT))
        case ("send again", index) if sent(world):
            again = sent(world)[index % len(sent(world))]
            before = inputs(world.session)
            world.try_send(e.Send(e.NewInput(text_parts("more"), again), None, CLIENT))
            assert inputs(world.session) == before
        case ("withdraw", index) if sent(world):
            world.try_send(e.Withdraw(sent(world)[index % len(sent(world))], CLIENT))
        case ("continue", run):
            world.try_send(e.Continue(run, CLIENT))
        case ("model", calls) if any(isinstance(one, AskModel) for one in world.effects):
            world.model_says(said(world, calls))
        case ("ruled", calls, on) if any(isinstance(one, AskModel) for one in world.effects):
            rulings = tuple(ruling(index, how) for index, how in on if index < len(calls))
            world.model_says(replace(said(world, calls), rulings=rulings))
        case ("trip", scope) if any(isinstance(one, AskModel) for one in world.effects):
            tripwire = Tripwire(extension="guard", scope=scope)
            world.send(e.Tripped(world.take(AskModel).invocation_id, tripwire, "no", 1, Usage(input_tokens=1)))
        case ("model-fails", code) if any(isinstance(one, AskModel) for one in world.effects):
            world.send(e.ModelCallFailed(world.take(AskModel).invocation_id, code, "it failed", 3))
        case ("tool", index, fails) if running(world):
            effect = running(world)[index % len(running(world))]
            world.effects.remove(effect)
            seen.append(effect.invocation_id)
            world.send(e.ToolEnded(effect.invocation_id, ToolOutcome("out", "tool/failed" if fails else None)))
        case ("complete", index, outcome, right, resume):
            complete(world, index, outcome, right, resume)
        case ("question", index) if running(world):
            effect = running(world)[index % len(running(world))]
            world.try_send(e.ToolAsked(effect.invocation_id, Question(kind="approval", prompt="sure?")))
        case ("aborted", index) if world.machine is not None and world.machine.work.closing and world.machine.work.live:
            live = world.machine.work.live
            world.send(e.Aborted(live[index % len(live)].invocation_id, 1))
        case _:
            play_rest(world, action, seen)


def ruling(index: int, how: Any) -> CallRuling:
    question = None if how == "deny" else Question(kind=how, prompt="sure?")
    return CallRuling(index, "guard", reason="no" if question is None else None, question=question)


def go(world: World, calls: Any, seen: list[str]) -> None:
    """Whatever comes next by itself, so that stories get far."""
    if any(isinstance(one, AskModel) for one in world.effects):
        world.model_says(said(world, calls))
    elif running(world):
        play(world, ("tool", 0, False), seen)
    elif world.session.state == "completed":
        world.try_send(e.Send(e.NewInput(text_parts("next")), None, CLIENT))
    else:
        world.try_send(e.Drive(e.STEP, CLIENT))


def play_rest(world: World, action: Any, seen: list[str]) -> None:
    match action:
        case ("cancel",):
            world.try_send(e.Cancel(None, "enough", CLIENT))
        case ("stop", 0):
            world.try_send(e.Stop("over", CLIENT))
        case ("pause",):
            world.try_send(e.Pause("hold", CLIENT))
        case ("grace",) if world.machine is not None:
            world.send(e.GraceOver(world.machine.work.generation))
        case ("late", index) if seen:
            before = world.machine
            world.send(e.ToolEnded(seen[index % len(seen)], ToolOutcome("late")))
            assert world.machine == before
        case ("time", millis):
            world.millis += millis
            world.send(e.TimePassed())
        case ("crash",):
            world.crash()
        case ("rewind", index):
            rewind(world, index)
        case ("seed", transcript):
            world.try_send(e.Reseed(seed_of({"transcript": transcript}), CLIENT))
        case ("reload", version):
            world.agent = VERSIONS[version]
        case ("drain", draining):
            world.draining = draining
            world.send(e.TimePassed())
        case ("sandbox", there):
            world.no_sandbox = None if there else "this daemon has no sandbox"
        case ("rule", how, name, disposition):
            change_rules(world, how, name, disposition)
        case ("isolate", one):
            isolate(world, one=one)
        case ("child", index, how) if working(world.session):
            call = working(world.session)[index % len(working(world.session))]
            move_child(world, call, how)
        case _:
            pass


def said(world: World, calls: Any) -> ModelAnswer:
    """An answer with these calls; a final one is JSON every other time."""
    return answer(*calls, text="" if calls else "done" if len(world.records) % 2 else '{"x":"1"}')


def sent(world: World) -> list[str]:
    """Every input, the last one first."""
    named = [one.data for one in world.records if isinstance(one.data, j.InputQueued | j.Input | j.Continued)]
    return [one.input_id for one in reversed(named)]


def running(world: World) -> list[RunTool]:
    live = {one.invocation_id for one in world.machine.work.live} if world.machine else set()
    return [one for one in world.effects if isinstance(one, RunTool) and one.invocation_id in live]


def complete(world: World, index: int, outcome: Any, right: bool, resume: bool) -> None:
    answers = [entry for turn in world.session.turns for entry in turn.entries if isinstance(entry, AnswerEntry)]
    calls = [call for one in answers for call in one.calls if call.verdict is not None]
    if not calls:
        return
    waiting = [call for call in calls if pending_kind(call)] or calls
    call = waiting[index % len(waiting)]
    kind = pending_kind(call)
    if kind and index % 2:
        legal = [one for one in LEGAL_OUTCOMES if one.kind in LEGAL[kind]]
        outcome = legal[index % len(legal)]
    shown = shown_hash(world.session, call) if right else "0" * 64
    world.try_send(e.Complete(call.verdict.token, outcome, shown, CLIENT, resume=resume))


def rewind(world: World, index: int) -> None:
    """To an answer of the model, or to one of all or the last revisions, which may not be one to go back to."""
    answers = [record.rev for record in world.records if record.data.type == "candidate"]
    revisions = [record.rev for record in world.records[-(len(world.records) if index % 2 else 6) :]]
    among = answers if answers and index % 3 == 0 else revisions
    world.try_send(e.Rewind(among[index % len(among)], CLIENT))


def change_rules(world: World, how: Any, name: str, disposition: str) -> None:
    """A rule comes by hand, goes, is applied, or comes with the answer to the first call that waits for an approval."""
    scope = "session" if how in ("add", "remove") else "user"
    asked = AskedRule.model_validate({"tool": name, "disposition": disposition, "scope": scope})
    if how != "always":
        rule = made(asked, session_id="s1", origin="by hand", now="T")
        world.try_send(e.ChangeRules(how, rule, CLIENT))
        return
    for call in open_calls(world.session):
        if pending_kind(call) == "approval" and call.verdict is not None:
            outcome = o.DenyCall() if disposition == "deny" else o.Approve()
            rule = asked.model_copy(update={"tool": call.tool})
            shown = shown_hash(world.session, call)
            world.try_send(e.Complete(call.verdict.token, outcome, shown, CLIENT, rule=rule))
            return


def move_child(world: World, call: Call, how: str) -> None:
    """What a child does: while it is worked on here, that tells of it, else the child itself does, or nobody."""
    assert world.machine is not None
    assert call.child_id is not None
    attended = next((one for one in world.machine.work.live if one.call_id == call.call_id), None)
    if how != "rests":
        outcome = ToolOutcome(f"child {call.child_id}", "tool/failed" if how == "fails" else None)
        world.children.setdefault(call.child_id, outcome)
    if attended is None:
        _ = how in ("rests", "ends unheard") or world.send(e.ChildEnded())
    elif call.child_id in world.children and any(one.child_id == call.child_id for one in running(world)):
        world.send(e.ToolEnded(attended.invocation_id, world.children[call.child_id]))
    else:
        world.send(e.ChildRested(attended.invocation_id))


def assert_nothing_lost(world: World) -> None:
    """Nobody doubts a call that a child works on, and what the child came to is what its call came to."""
    answers = [entry for turn in world.session.turns for entry in turn.entries if isinstance(entry, AnswerEntry)]
    calls = [call for one in answers for call in one.calls if call.child_id is not None]
    assert [call.call_id for call in calls if call.state == "uncertain"] == []
    for call in calls:
        outcome = world.children.get(call.child_id or "")
        if outcome is not None and call.state in ("completed", "failed") and call.finished is not None:
            assert call.finished.output in (outcome.content, "out")


def inputs(session: Session) -> Any:
    """What was said, and what waits to be. The rest of a session may go on with any event: a child has ended."""
    return session.queue, [one for turn in session.turns for one in turn.entries if isinstance(one, InputEntry)]


def isolate(world: World, *, one: bool) -> None:
    waiting = [call for call in open_calls(world.session) if call.verdict is not None]
    world.try_send(e.Isolate(waiting[0].verdict.token if one and waiting and waiting[0].verdict else None, CLIENT))


def assert_isolated(world: World) -> None:
    """What the policy wants in a sandbox is in none but one."""
    boxed = [one.isolation for one in world.effects if isinstance(one, RunTool) and one.tool.name == "box"]
    assert boxed == [RunIsolated()] * len(boxed)


def assert_sendable(world: World) -> None:
    """Whatever a model is asked, the strictest provider takes it."""
    asked = [one for one in world.effects if isinstance(one, AskModel)]
    assert [fault_of(one.request) for one in asked] == [None] * len(asked)


CHILD_ENDS_UNHEARD = [("go", [("c1", "kid", "{}")]), ("crash",), ("child", 0, "ends unheard"), ("send again", 0)]


@example([("send", "turn", None), ("drive", e.Run(), False), *CHILD_ENDS_UNHEARD], e.Run(), "as it was", False)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(ACTIONS, min_size=10, max_size=50),
    st.sampled_from([None, *RUNS]),
    st.sampled_from(list(VERSIONS)),
    st.booleans(),
)
def test_the_invariants_hold_after_every_event_crash_and_replay(
    actions: list[Any], first: e.Run | None, version: str, keyed: bool
) -> None:
    world = World(VERSIONS[version], keyed=keyed)
    world.start("hello", first)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
        assert_sendable(world)
        assert_isolated(world)
        assert_nothing_lost(world)
    world.crash()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=5, max_size=30), st.data(), st.booleans())
def test_every_prefix_of_a_journal_loads_and_can_go_on(actions: list[Any], data: Any, keyed: bool) -> None:
    world = World(VERSIONS["as it was"], keyed=keyed)
    world.start("hello", e.UNTIL_YIELD)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
    cut = data.draw(st.sampled_from(world.units))
    world.records = world.records[:cut]
    world.crash()
    world.try_send(e.Drive(e.UNTIL_YIELD, CLIENT, resume=True))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=5, max_size=40), st.sampled_from([None, *RUNS]))
def test_a_key_changes_nothing_but_what_is_remembered_of_the_request(actions: list[Any], first: e.Run | None) -> None:
    without, world = World(), World(keyed=True)
    for one in (without, world):
        one.start("hello", first)
        seen: list[str] = []
        for action in actions:
            play(one, action, seen)
    told = [name for name in world.types() if name != "answered"]
    assert (told, [end.outcome for end in world.ended]) == (without.types(), [end.outcome for end in without.ended])
    assert [one for one in without.records if one.request or one.outcomes] == []


def shown(session: Session) -> tuple[Any, ...]:
    return (session.state, session.tries, session.context_tokens, history(session), told(session), session.compactions)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(ACTIONS, min_size=5, max_size=40),
    st.sampled_from(list(VERSIONS)),
    st.integers(0, 1000),
    st.lists(st.tuples(st.integers(0, 2), ACTIONS), max_size=25),
)
def test_two_forks_and_their_source_each_go_on_as_if_alone(
    story: list[Any], version: str, where: int, more: list[tuple[int, Any]]
) -> None:
    """Driven in any order: what was spent, asked and let run in one of them is nowhere in the others."""
    source = World(VERSIONS[version])
    source.start("hello", e.UNTIL_YIELD)
    seen: list[str] = []
    for action in story:
        play(source, action, seen)
    legal = legal_revisions(source.session)
    revision = legal[where % len(legal)]
    past, ran = at(source.session, revision), {call_id for call_id, _ in source.starts}
    worlds = [source, forked(source, revision), forked(source, revision, "f2")]
    for fork in worlds[1:]:
        assert shown(fork.session) == shown(past)
        assert not fork.session.usage.input_tokens
        assert not fork.session.children
        assert set(fork.session.created.ran or ()) <= ran
    known = [issued(world) for world in worlds]
    assert len(set().union(*known)) == sum(map(len, known))
    seens: list[list[str]] = [seen, [], []]
    for index, action in more:
        others = [world.machine for place, world in enumerate(worlds) if place != index]
        play(worlds[index], action, seens[index])
        assert [world.machine for place, world in enumerate(worlds) if place != index] == others
    for world in worlds:
        world.crash()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=5, max_size=40), st.sampled_from(["as it was", "other tools"]))
def test_what_is_seeded_with_a_record_tells_a_model_the_same(actions: list[Any], version: str) -> None:
    world = World(VERSIONS[version])
    world.start("hello", e.UNTIL_YIELD)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
    record = record_of(world.session).wire()
    seeded = planted({"transcript": json.loads(json.dumps(record["transcript"]))}, World(VERSIONS[version]))
    if world.session.batch is None and not world.session.compactions:
        assert read_by_a_model(seeded.session) == read_by_a_model(world.session)
        again = record_of(seeded.session).wire()["transcript"]
        assert read_by_a_model(planted({"transcript": again}).session) == read_by_a_model(world.session)


NEXT: list[e.Event] = [
    e.Drive(e.UNTIL_YIELD, CLIENT, resume=True),
    e.Send(e.NewInput(text_parts("next")), e.THIS_TURN, CLIENT),
    e.Cancel(None, "enough", CLIENT),
    e.Stop("over", CLIENT),
    e.Pause("hold", CLIENT),
    e.TimePassed(),
    e.ChildEnded(),
]


def came_of(world: World, machine: Machine, event: e.Event) -> Any:
    """What is recorded and done, and what the session is like then; or why not."""
    drawn = world.counter
    try:
        done = transition(machine, event, world.context())
    except AbeyError as error:
        return str(error), error.details
    finally:
        world.counter = drawn  # the next one has the same time and chance
    # to children of lines that were left it may be said once more that they are to end
    return done.records, done.machine.session, [one for one in done.effects if not isinstance(one, EndChild)]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=5, max_size=40), st.sampled_from(list(VERSIONS)), st.booleans())
def test_a_session_at_rest_goes_on_the_same_after_it_was_read_again(
    actions: list[Any], version: str, keyed: bool
) -> None:
    world = World(VERSIONS[version], keyed=keyed)
    world.start("hello", e.UNTIL_YIELD)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
        assert world.machine is not None
        if not rests(world.machine):
            continue
        read = fold(world.records)
        assert read is not None
        # what is said to children of lines that were left counts among the effects, which ids are made of: the test
        # below goes without
        work = world.machine.work
        again = Machine(recover(read), Work(generation=work.generation, left_ended=work.left_ended))
        assert again.session == world.session
        for event in NEXT:
            assert came_of(world, again, event) == came_of(world, world.machine, event)


def named_by_place(text: str) -> str:
    """The same with the ids and tokens in it numbered as they come: they are of chance."""
    places: dict[str, str] = {}
    return re.sub(
        r"\b([0-9a-hjkmnp-tv-z]{26}|[0-9a-f]{32})\b", lambda one: places.setdefault(one[0], f"#{len(places)}"), text
    )


@pytest.mark.parametrize("event", NEXT, ids=lambda event: type(event).__name__)
def test_to_children_of_a_line_that_was_left_it_is_said_once_more_after_the_session_was_read_again(
    event: e.Event,
) -> None:
    world = World(VERSIONS["as it was"])
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(answer(("c1", "kid", "{}")))
    child = world.take(RunTool)
    world.send(e.ChildRested(child.invocation_id))
    world.send(e.Rewind(next(one.rev for one in world.records if one.data.type == "candidate"), CLIENT))
    read = fold(world.records)
    assert read is not None and world.machine is not None and rests(world.machine)
    again = Machine(recover(read), Work(generation=world.machine.work.generation))
    told = [repr(came_of(world, one, event)) for one in (again, world.machine)]
    assert named_by_place(told[0]) == named_by_place(told[1])
    ends = [EndChild(child.invocation_id, "c1", child.child_id)] if isinstance(event, e.Command) else []
    done = transition(again, event, world.context())
    assert [one for one in done.effects if isinstance(one, EndChild)] == ends
