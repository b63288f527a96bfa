"""A session goes back to an earlier revision, and forth again (machine.md, Rewinds)."""

from dataclasses import replace
from typing import Any

import pytest
from core.test_projection import events
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.snapshots import END
from support.stories import Came, asked, at, batch, came, complete, completion, dispatched, find, refused, states
from support.world import CLIENT, KID, TOOLS, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.conversation import ToolOutcome
from abey.core.effects import AskModel, EndRun, RunTool
from abey.core.finding import find_call, turns_of_all_lines
from abey.core.hashes import shown_hash
from abey.core.history import history
from abey.core.invariants import KEPT, REACHED, UNCHANGED, BrokenInvariant, check_lines, check_step
from abey.core.line_invariants import started_twice
from abey.core.lines import at as as_of
from abey.core.machine import Machine
from abey.core.remembering import made
from abey.core.rows import Row
from abey.core.transition import Transition
from abey.core.views import items, resolution_view
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.config import Compaction
from abey.protocol.outcomes import Resolution
from abey.protocol.policy import AskedRule, Policy
from abey.protocol.seeds import Seed
from abey.protocol.session import Usage
from abey.runtime.store.references import no_blobs
from abey.runtime.store.snapshot_text import Snapshot, from_text, to_text

RAN = "already ran before the rewind"


def rewind(world: World, to: int) -> Transition:
    return world.send(e.Rewind(to, CLIENT))


def revision_of(world: World, kind: str) -> int:
    """Of the last record of this type."""
    return next(record.rev for record in reversed(world.records) if record.data.type == kind)


def say(world: World, text: str, input_id: str | None = None) -> None:
    world.send(e.Send(e.NewInput(text_parts(text), input_id), e.THIS_TURN, CLIENT))


def two_turns() -> World:
    world = World()
    world.start("one", e.THIS_TURN)
    world.model_says(answer(text="first"))
    say(world, "two", "i2")
    world.model_says(answer(text="second"))
    return world


def shown(world: World) -> list[dict[str, Any]]:
    return [item.wire() for item in items(world.session)]


def test_a_session_goes_back_and_its_journal_keeps_what_came_after() -> None:
    world = two_turns()
    before = world.types()
    earlier = as_of(world.session, revision_of(world, "final"))
    assert earlier.turns == world.session.turns
    first_end = next(record.rev for record in world.records if record.data.type == "final")
    then = shown(world)[:2]
    assert came(rewind(world, first_end)) == Came(["rewound"], [], "completed")
    assert world.types() == [*before, "rewound"]
    assert (shown(world), world.session.usage.output_tokens) == (then, 2)
    assert history(world.session) == history(earlier)[:2]


def test_a_rewind_can_be_rewound_also_to_the_middle_of_what_was_left_and_on_from_there() -> None:
    world = two_turns()
    end, second = world.session.revision, revision_of(world, "input")
    whole = shown(world)
    rewind(world, 1)
    assert (shown(world), world.session.state) == ([], "completed")
    say(world, "other")
    world.model_says(answer(text="third"))
    other_end, other = world.session.revision, shown(world)
    rewind(world, end)
    assert shown(world) == whole
    rewind(world, second)
    assert (shown(world), world.session.state) == (whole[:3], "userTurn")
    world.drive()
    world.model_says(answer(text="fourth"))
    rewind(world, other_end)
    assert shown(world) == other
    rewind(world, end)
    assert shown(world) == whole
    world.crash()
    assert shown(world) == whole


def test_what_was_counted_is_restored_and_what_was_spent_is_not() -> None:
    world = World()
    world.start("one", e.STEP)
    world.send(e.ModelCallFailed(world.take(AskModel).invocation_id, "transient", "no", 3))
    failed = world.session.revision
    world.drive()
    world.model_says(replace(answer(*asked("run")), attempts=2))
    world.drive()
    world.tool_ends()
    world.drive()
    world.model_says(answer(text="done"))
    turn = world.session.turns[0]
    assert (world.session.tries, turn.steps, turn.end) == (6, 4, "answered")
    rewind(world, failed)
    turn = world.session.turns[0]
    assert (world.session.tries, turn.steps, turn.end, turn.ended_at) == (3, 1, None, None)
    assert (world.session.last_error, world.session.usage) == (None, Usage(input_tokens=2, output_tokens=2))
    world.drive()
    assert world.take(AskModel).request.tries == 3


def test_a_summary_is_forgotten_where_it_was_not_made_yet() -> None:
    world = World(replace(agent(), compaction=Compaction(at_tokens=30, keep_tokens=10)))
    world.start("a long beginning " * 20, e.THIS_TURN)
    world.model_says(replace(answer(text="first " * 20), usage=Usage(input_tokens=40, output_tokens=5)))
    before = world.session.revision
    say(world, "go on")
    world.model_says(answer(text="the summary"))
    compacted = world.session
    assert compacted.compacted is not None
    world.model_says(answer(text="second"))
    end = world.session.revision
    rewind(world, before)
    assert (world.session.compacted, world.session.context_tokens) == (None, 45)
    rewind(world, end)
    assert (world.session.compacted, world.session.context_tokens) == (compacted.compacted, 2)


@pytest.mark.parametrize(
    ("to", "state"), [(0, "userTurn"), (99, "userTurn"), (5, "partialUserTurn"), (6, "partialUserTurn")]
)
def test_a_revision_that_is_not_there_or_was_not_at_rest_is_refused(to: int, state: str) -> None:
    world = dispatched("ask")
    complete(world, "c1", o.Result(content="r"))
    assert world.types() == [
        "created",
        "input",
        "model-requested",
        "candidate",
        "call-decided",
        "waiting",
        "call-resolved",
        "tool-results",
    ]
    data = refused(world, e.Rewind(to, CLIENT))
    assert data == {
        "kind": "state/invalid",
        "retryable": False,
        "state": state,
        "legal": ["userTurn", "completed", "llmTurn"],
    }


def test_a_refusal_names_the_nearest_revisions_that_were_quiet() -> None:
    def said(world: World, revision: int) -> str:
        with pytest.raises(InvalidState) as refusal:
            as_of(world.session, revision)
        return refusal.value.message.partition("; ")[2]

    world = dispatched("ask")
    assert said(world, 5) == "it was at revision 4"
    complete(world, "c1", o.Result(content="r"))
    assert said(world, 6) == "it was at revision 4, and again at 8"
    world.send(e.Stop("enough", CLIENT))
    stop = revision_of(world, "stopped")
    assert said(world, stop) == f"it was at revision {stop - 1}"
    for quiet in (4, 8, stop - 1):
        assert as_of(world.session, quiet).revision == quiet


def test_it_is_refused_while_the_foreground_works_and_once_the_session_is_stopped() -> None:
    world = World()
    world.start("one", e.STEP)
    assert refused(world, e.Rewind(1, CLIENT))["kind"] == "session/busy"
    world.model_says(answer(*asked("run")))
    world.drive()
    assert refused(world, e.Rewind(1, CLIENT))["kind"] == "session/busy"
    world.tool_ends()
    world.send(e.Stop("over", CLIENT))
    assert refused(world, e.Rewind(1, CLIENT))["kind"] == "session/stopped"


def test_to_where_it_is_it_does_not_move() -> None:
    world = two_turns()
    assert came(rewind(world, world.session.revision)) == Came([], [], "completed")


def test_a_call_that_ran_waits_with_a_token_of_its_own_and_the_reason() -> None:
    world = dispatched("run", "ask")
    world.tool_ends("run")
    old = find(world, "c1").verdict
    candidate = revision_of(world, "candidate")
    assert [record.data for record in rewind(world, candidate).records] == [
        j.Rewound(to=candidate, ran=("c1",), client=CLIENT)
    ]
    assert (world.session.state, states(world)) == ("llmTurn", {"c1": "ready", "c2": "ready"})
    world.drive()
    assert states(world) == {"c1": "deferred", "c2": "deferred"}
    first, second = (find(world, call_id).verdict for call_id in ("c1", "c2"))
    assert old is not None
    assert first is not None
    assert second is not None
    assert (first.reason, second.reason, first.runnable) == (RAN, "approval required", True)
    assert first.token not in (old.token, second.token)
    assert came(complete(world, "c1", o.Approve())).did == ["run run"]


@pytest.mark.parametrize("name", ["bg", "safe", "alone", "kid", "box"])
def test_whatever_lets_it_run_and_however_it_runs_it_waits(name: str) -> None:
    world = World(agent((*TOOLS, KID)), no_sandbox=None)
    dispatched(name, world=world)
    candidate = revision_of(world, "candidate")
    if name not in ("bg", "kid"):
        world.tool_ends()
    rewind(world, candidate)
    assert came(world.drive()) == Came(["call-decided", "waiting"], ["end advanced after 1"], "partialUserTurn")
    verdict = find(world, "c1").verdict
    assert verdict is not None
    assert (verdict.reason, find(world, "c1").state) == (RAN, "deferred")
    assert came(complete(world, "c1", o.Approve())).did == [f"run {name}"]
    boxed = world.take(RunTool).isolation
    assert (boxed is not None) == (name == "box")


def test_what_the_policy_denies_by_now_is_denied() -> None:
    world = dispatched("run")
    world.tool_ends()
    candidate = revision_of(world, "candidate")
    world.agent = agent(policy=Policy.model_validate({"rules": [{"tool": "run", "disposition": "deny"}]}))
    rewind(world, candidate)
    world.drive()
    assert states(world) == {"c1": "denied"}


def test_what_was_decided_and_never_started_is_judged_as_if_for_the_first_time() -> None:
    world = dispatched("ask")
    rewind(world, revision_of(world, "candidate"))
    world.agent = agent(policy=Policy.model_validate({"default": "runSync"}))
    assert came(world.drive()).did == ["run ask"]


def test_a_synchronous_run_denies_a_call_that_ran() -> None:
    world = dispatched("run")
    world.tool_ends()
    rewind(world, revision_of(world, "candidate"))
    world.drive(e.Run(synchronous=True))
    told = find(world, "c1").finished
    assert told is not None
    assert (told.outcome, told.output) == ("denied", "needs a decision, and this run is synchronous")


def test_a_call_that_ran_on_one_line_has_run_on_every_line() -> None:
    world = batch("run")
    candidate = world.session.revision
    world.drive()
    world.tool_ends()
    for _ in range(2):
        rewind(world, candidate)
        assert [call.ran_before for call in world.session.batch.calls] == [True]
    rewind(world, 1)
    assert rewind(world, candidate).records[0].data == j.Rewound(to=candidate, ran=("c1",), client=CLIENT)


def test_no_remembered_rule_answers_a_call_that_ran() -> None:
    world = dispatched("ask")
    complete(world, "c1", o.Approve())
    world.tool_ends()
    rewind(world, revision_of(world, "candidate"))
    rule = made(
        AskedRule.model_validate({"tool": "ask", "disposition": "runSync", "scope": "session"}),
        session_id="s1",
        origin="by hand",
        now="T",
    )
    world.drive()
    assert came(world.send(e.ChangeRules("add", rule, CLIENT))).wrote == ["rule-added"]
    rewind(world, revision_of(world, "candidate"))
    world.drive()
    assert states(world) == {"c1": "deferred"}


def test_an_old_token_does_nothing_and_says_what_became_of_its_call() -> None:
    world = dispatched("ask")
    stale = completion(world, "c1", o.Approve())
    rewind(world, 1)
    assert came(world.send(stale)) == Came([], [], "completed")
    found = find_call(world.session, stale.token)
    assert found is not None
    now = at(world)
    assert resolution_view(found[1]) == Resolution(
        kind="rewound",
        by="test",
        client=CLIENT,
        at=now,
        text=f"rewound by test (cli) at {now}: the session went back to revision 1",
    )


def test_what_was_answered_before_is_still_told_by_its_old_token() -> None:
    world = dispatched("ask")
    stale = completion(world, "c1", o.DenyCall(message="no"))
    world.send(stale)
    rewind(world, 1)
    assert came(world.send(stale)) == Came([], [], "completed")
    found = find_call(world.session, stale.token)
    assert found is not None
    assert resolution_view(found[1]).kind == "deny"


def test_clients_hear_of_the_calls_and_inputs_that_are_gone() -> None:
    world = dispatched("ask", "bg")
    world.send(e.Send(e.NewInput(text_parts("later"), "i9", "queue"), None, CLIENT))
    rewind(world, 2)
    told = [event for revision, event in events(world) if revision == world.session.revision]
    inputs, rest = ([one for one in told if one["type"].startswith("input/") == chosen] for chosen in (True, False))
    assert inputs == [{"type": "input/rejected", "inputId": "i9"}]
    assert [event["type"] for event in rest] == ["note", "pending/resolved", "pending/resolved", "session/updated"]
    assert rest[0] == {"type": "note", "text": "went back to revision 2", "to": 2}
    assert [(one["pending"]["callId"], one["resolution"]["kind"]) for one in rest[1:3]] == [
        ("c1", "rewound"),
        ("c2", "rewound"),
    ]


def test_an_input_of_a_line_that_was_left_is_not_taken_again() -> None:
    world = two_turns()
    world.send(e.Send(e.NewInput(text_parts("three"), "i3"), e.STEP, CLIENT))
    world.send(e.Send(e.NewInput(text_parts("four"), "i4", "queue"), None, CLIENT))
    world.model_says(answer(*asked("ask")))
    rewind(world, 1)
    for input_id in ("i2", "i3", "i4"):
        done = world.send(e.Send(e.NewInput(text_parts("again"), input_id), e.THIS_TURN, CLIENT))
        assert done.records == ()


def test_background_work_ends_and_its_late_result_is_nobodys() -> None:
    world = dispatched("bg")
    running = world.take(RunTool)
    candidate = revision_of(world, "candidate")
    assert came(rewind(world, candidate)) == Came(["rewound"], ["abort"], "llmTurn")
    late = world.send(e.ToolEnded(running.invocation_id, ToolOutcome("late")))
    assert came(late) == Came([], ["quarantine"], "llmTurn")
    assert came(world.send(e.Aborted(running.invocation_id))) == Came([], [], "llmTurn")


def test_a_child_of_a_call_that_is_left_is_told_to_end() -> None:
    world = World(agent((*TOOLS, KID)))
    dispatched("kid", world=world)
    world.send(e.ChildRested(world.take(RunTool).invocation_id))
    assert came(rewind(world, 2)) == Came(["rewound"], ["end child"], "userTurn")


def test_a_child_of_a_call_that_is_left_is_told_again_by_a_daemon_that_comes_after() -> None:
    world = World(agent((*TOOLS, KID)))
    dispatched("kid", world=world)
    world.send(e.ChildRested(world.take(RunTool).invocation_id))
    rewind(world, 2)
    assert came(world.send(e.Pause(None, CLIENT))).did == []
    world.crash()
    assert came(world.send(e.Pause(None, CLIENT))).did == ["end child"]
    assert came(world.send(e.Pause(None, CLIENT))).did == []


def test_runs_that_wait_end_cancelled_and_who_waits_for_a_call_waits_no_more() -> None:
    world = World(keyed=True)
    world.start("one", e.UNTIL_TURN)
    world.model_says(answer(*asked("ask")))
    complete(world, "c1", o.Approve())
    done = rewind(world, revision_of(world, "candidate"))
    assert [one for one in done.effects if isinstance(one, EndRun)] == [EndRun(1, "cancelled", 2)]
    assert done.machine.work.requests == ()


def test_a_paused_session_stays_paused_and_keeps_its_title_and_rules() -> None:
    world = two_turns()
    world.send(e.Update("a name", True, CLIENT))
    world.send(e.Pause("hold", CLIENT))
    before = world.session
    rewind(world, 1)
    after = world.session
    assert (after.paused, after.title, after.archived, after.rules) == (
        before.paused,
        "a name",
        True,
        before.rules,
    )


def test_the_same_call_id_on_another_line_is_another_call() -> None:
    world = dispatched("run")
    world.tool_ends()
    left = world.session.revision
    rewind(world, 2)
    world.drive()
    world.model_says(answer(*asked("run")))
    assert came(world.drive()).did == ["run run"]
    world.tool_ends()
    rewind(world, revision_of(world, "candidate"))
    rewind(world, left)
    check_lines(world.machine, world.records)


def test_a_torn_write_before_the_rewind_holds_the_call_back() -> None:
    world = batch("run")
    candidate = world.session.revision
    found = j.Repaired(offset=100, cut_bytes=7, may_have_run=True)
    world.records.append(j.Record(world.records[-1].rev + 1, world.context().now, found))
    world.crash()
    assert rewind(world, candidate).records[0].data == j.Rewound(to=candidate, ran=("c1",), client=CLIENT)
    world.drive()
    assert states(world) == {"c1": "deferred"}


def test_an_approval_binds_to_the_call_as_it_is_after_the_rewind() -> None:
    world = dispatched("ask")
    before = shown_hash(world.session, find(world, "c1"))
    rewind(world, revision_of(world, "candidate"))
    world.drive()
    verdict = find(world, "c1").verdict
    assert verdict is not None
    data = refused(world, e.Complete(verdict.token, o.Approve(), before, CLIENT))
    assert data["kind"] == "arguments/mismatch"


def test_a_crash_between_any_two_records_loses_no_line() -> None:
    world = two_turns()
    rewind(world, 3)
    world.drive()
    world.crash()
    rewind(world, world.session.revision - 1)
    for place in range(1, len(world.records) + 1):
        cut = World()
        cut.records = world.records[:place]
        cut.crash()


def test_what_was_before_a_seed_is_a_line_too() -> None:
    world = two_turns()
    whole, end = shown(world), world.session.revision
    world.send(e.Stop("over", CLIENT))
    stopped = world.session.revision
    seed = Seed.model_validate({"transcript": [], "turnCount": 5, "context": {"a": 1}})
    world.send(e.Reseed(seed, CLIENT))
    say(world, "go on")
    world.model_says(answer(text="third"))
    seeded = world.session.revision
    assert refused(world, e.Rewind(stopped, CLIENT))["state"] == "stopped"
    rewind(world, end)
    assert (shown(world), world.session.turn_count, world.session.context) == (whole, 2, None)
    world.crash()
    rewind(world, seeded)
    assert (world.session.turn_count, world.session.context) == (6, {"a": 1})
    rewind(world, stopped + 1)
    assert (world.session.turn_count, world.session.turns) == (5, ())
    world.crash()


def test_a_line_that_is_lost_or_changed_is_told() -> None:
    world = two_turns()
    rewind(world, 1)
    session = world.session
    with pytest.raises(BrokenInvariant, match=KEPT):
        check_step(session, replace(session, lines=(replace(session.lines[0], revision=3),)))
    with pytest.raises(BrokenInvariant, match=UNCHANGED):
        check_step(dispatched("no").session, session)


def test_a_revision_that_cannot_be_reached_again_is_told() -> None:
    world = two_turns()
    turns = Row.of([replace(turn, marks=()) for turn in world.session.turns])
    with pytest.raises(BrokenInvariant, match=REACHED):
        check_lines(Machine(replace(world.session, turns=turns)), world.records)


@pytest.mark.parametrize(
    ("name", "approved", "twice"), [("run", False, True), ("safe", False, True), ("safe", True, False)]
)
def test_a_call_that_starts_again_after_a_rewind_without_an_answer_is_told(
    name: str, approved: bool, twice: bool
) -> None:
    world = dispatched(name)
    world.tool_ends()
    rewind(world, revision_of(world, "candidate"))
    world.drive()
    if approved:
        complete(world, "c1", o.Approve())
        assert started_twice(world.records) == twice
        return
    started = next(record.data for record in world.records if record.data.type == "call-started")
    again = j.Record(world.session.revision + 1, "T", started)
    assert started_twice([*world.records, again]) == twice


def test_a_snapshot_holds_a_turn_that_lines_share_once() -> None:
    world = two_turns()
    end = world.session.revision
    for _ in range(3):
        rewind(world, revision_of(world, "input"))
        rewind(world, end)
    text = to_text(Snapshot(world.session, END, "0" * 64, 4), lambda _name, _size: False)
    rows = [line for line in text.decode().splitlines() if '{"Turn":' in line]
    assert len(rows) == len({id(turn) for turn in turns_of_all_lines(world.session)})
    found = from_text(text, no_blobs)
    assert found is not None
    assert found.session == world.session
    assert to_text(found, lambda _name, _size: False) == text


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["say", "call", "rewind", "crash"]), st.integers(0, 40)), max_size=30))
def test_however_often_it_goes_back_every_quiet_revision_is_reached_again(actions: list[tuple[str, int]]) -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(text="done"))
    for action, number in actions:
        match action:
            case "say":
                world.try_send(e.Send(e.NewInput(text_parts(str(number))), None, CLIENT))
            case "call" if any(isinstance(one, AskModel) for one in world.effects):
                world.model_says(answer(*asked(("run", "ask", "safe", "bg")[number % 4])))
            case "call" if any(isinstance(one, RunTool) for one in world.effects):
                one = next(one for one in world.effects if isinstance(one, RunTool))
                world.effects.remove(one)
                world.send(e.ToolEnded(one.invocation_id, ToolOutcome("out")))
            case "call":
                world.try_send(e.Drive(e.STEP, CLIENT))
            case "rewind":
                world.try_send(e.Rewind(number % (world.session.revision + 1), CLIENT))
            case _:
                world.crash()
    world.crash()
