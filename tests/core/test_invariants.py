"""Every invariant can fail: a machine, a step or a journal made by hand breaks it, and the check says which."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.stories import asked, complete, crashed, dispatched, find
from support.world import CLIENT, World, answer, keyed

from abey.core import events as e
from abey.core.call import Call
from abey.core.invariants import (
    ENDED,
    GAPLESS,
    INVARIANTS,
    ONCE,
    REMEMBERED,
    REPLAYED,
    BrokenInvariant,
    check,
    check_journal,
    check_step,
)
from abey.core.machine import ActiveRun, Invocation, Machine, OpenRequest, Work
from abey.core.rows import Row
from abey.core.session import AnswerEntry, Session, Turn
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question

SURE = Question(kind="approval", prompt="sure?")
STARTED = j.CallStarted(call_id="c1", invocation_id="i", arguments_hash="h")


def answered(*names: str) -> World:
    """A turn that has ended, with the results of these calls."""
    world = dispatched(*names)
    world.drive()
    world.model_says(answer(text="done"))
    return world


def with_calls(session: Session, change: Callable[[Call], Call]) -> Session:
    """The session with every call of its last answer that has calls changed."""

    def changed(turn: Turn) -> Turn:
        entries = [
            replace(one, calls=tuple(change(call) for call in one.calls)) if isinstance(one, AnswerEntry) else one
            for one in turn.entries
        ]
        return replace(turn, entries=tuple(entries))

    return replace(session, turns=Row.of([changed(turn) for turn in session.turns]))


def sent_while_open() -> Machine:
    requested = j.ModelRequested(turn_id="t", step_id="s", invocation_id="i", request_hash="h", config_hash="c")
    return Machine(replace(dispatched("ask").session, asked=requested))


def running_without_work() -> Machine:
    return Machine(dispatched("run").session)


def work_without_a_running_call() -> Machine:
    return Machine(dispatched("ask").session, Work(live=(Invocation("i", "c1"),)))


def two_model_calls() -> Machine:
    return Machine(dispatched("ask").session, Work(live=(Invocation("i1"), Invocation("i2"))))


def ended_with_an_open_call() -> Machine:
    session = dispatched("ask").session
    return Machine(replace(session, turns=Row.of([replace(session.turns[0], end="cancelled")])))


def two_open_turns() -> Machine:
    session = dispatched("ask").session
    turn = Turn("t0", 0, "T")
    return Machine(replace(session, turns=Row.of([turn, *session.turns])))


def one_token_twice() -> Machine:
    session = dispatched("ask", "ask").session
    first = session.batch.calls[0].verdict
    return Machine(with_calls(session, lambda call: replace(call, verdict=first)))


def stopped_with_a_run() -> Machine:
    session = replace(answered("no").session, stopped_rev=9)
    return Machine(session, Work(run=ActiveRun(e.STEP, 1)))


def stopped_with_work() -> Machine:
    session = replace(answered("no").session, stopped_rev=9)
    return Machine(session, Work(live=(Invocation("i"),)))


def asked_about_after_it_started() -> Machine:
    session = dispatched("ask").session
    return Machine(with_calls(session, lambda call: replace(call, started=STARTED, question=SURE)))


def started_while_another_is_asked_about() -> Machine:
    def change(call: Call) -> Call:
        if call.call_id == "c1":
            return replace(call, question=SURE)
        return replace(call, started=STARTED, state="uncertain")

    return Machine(with_calls(dispatched("ask", "ext").session, change))


def denied_after_it_started() -> Machine:
    return Machine(with_calls(dispatched("no").session, lambda call: replace(call, started=STARTED)))


def one_id_twice() -> Machine:
    session = dispatched("ask", "ext").session
    return Machine(with_calls(session, lambda call: replace(call, call_id="c1")))


def waits_for_nothing() -> Machine:
    return Machine(dispatched("ask").session, Work(requests=(OpenRequest(keyed("k").request, {}, generation=7),)))


def promised_to_an_input_that_has_ended() -> Machine:
    promise = ActiveRun(e.THIS_TURN, 2, input_id="gone")
    return Machine(dispatched("ask").session, Work(generation=2, promised=(promise,)))


def one_child_twice() -> Machine:
    return Machine(replace(dispatched("ask").session, children=("k1", "k1")))


RUNS = "A call that runs has work in flight or a child, and work in flight has a call that runs"

BROKEN: list[tuple[str, Callable[[], Machine]]] = [
    ("An open batch is never sent to a model", sent_while_open),
    (RUNS, running_without_work),
    (RUNS, work_without_a_running_call),
    ("At most one model call is in flight", two_model_calls),
    ("A turn that has ended has no open call", ended_with_an_open_call),
    ("Only the last turn may be open", two_open_turns),
    ("Every call has its own token", one_token_twice),
    ("A stopped session has no work in flight", stopped_with_a_run),
    ("A stopped session has no work in flight", stopped_with_work),
    ("A call that somebody is asked about before it runs has not started", asked_about_after_it_started),
    (
        "While somebody is asked about a call before it runs, of its batch only what was let run has started",
        started_while_another_is_asked_about,
    ),
    ("A call that was denied has never started", denied_after_it_started),
    ("The history closes every call exactly once, in its place, but for what a seed has told otherwise", one_id_twice),
    ("Every child works on one call", one_child_twice),
    ("A request with a key that is in flight waits for something that is in flight", waits_for_nothing),
    (
        "A run that is promised to an input is promised to one that waits, or whose turn is open",
        promised_to_an_input_that_has_ended,
    ),
]


@pytest.mark.parametrize(("sentence", "machine"), BROKEN, ids=[broken.__name__ for _, broken in BROKEN])
def test_a_machine_that_breaks_an_invariant_is_told_which(sentence: str, machine: Callable[[], Machine]) -> None:
    with pytest.raises(BrokenInvariant) as raised:
        check(machine())
    assert raised.value.args == (sentence,)


def test_every_invariant_is_broken_by_one_of_these_machines() -> None:
    assert {sentence for sentence, _ in BROKEN} == set(INVARIANTS)


def test_while_a_cancel_is_on_its_way_a_tool_may_have_ended_before_its_call_is_closed() -> None:
    world = dispatched("run", "safe")
    world.send(e.Cancel(None, None, CLIENT))
    done = world.send(e.Aborted(world.effects[0].invocation_id))
    check(done.machine)
    with pytest.raises(BrokenInvariant):
        check(replace(done.machine, work=replace(done.machine.work, closing=None)))


def finished_again() -> tuple[Session, Session]:
    world = dispatched("no", "ask")
    return world.session, with_calls(world.session, lambda call: replace(call, state="completed"))


def forgotten() -> tuple[Session, Session]:
    world = answered("no")
    return world.session, replace(world.session, turns=Row())


@pytest.mark.parametrize("step", [finished_again, forgotten])
def test_a_step_that_changes_a_final_call_is_told(step: Callable[[], tuple[Session, Session]]) -> None:
    with pytest.raises(BrokenInvariant) as raised:
        check_step(*step())
    assert raised.value.args == ("A call in a final state never changes",)


def test_a_call_may_change_until_it_is_final() -> None:
    world = dispatched("ask")
    before = world.session
    complete(world, "c1", o.DenyCall())
    check_step(before, world.session)


def another_memory() -> tuple[Machine, list[j.Record]]:
    world = dispatched("ask")
    return Machine(replace(world.session, tries=7)), world.records


def no_journal() -> tuple[Machine, list[j.Record]]:
    return Machine(dispatched("ask").session), []


def a_hole() -> tuple[Machine, list[j.Record]]:
    world = dispatched("ask")
    return Machine(world.session), [*world.records[:-1], replace(world.records[-1], rev=9)]


def a_start_too_many() -> tuple[Machine, list[j.Record]]:
    """The daemon ran an uncertain call again by itself."""
    world = crashed("run")
    verdict = find(world, "c1").verdict
    started = next(one.data for one in world.records if isinstance(one.data, j.CallStarted))
    assert verdict is not None
    world.records.append(j.Record(len(world.records) + 1, "T", started))
    world.crash()
    return Machine(world.session), world.records


def retold(**changed: Any) -> tuple[Machine, list[j.Record]]:
    """A pause under a key, told a second time with these changes."""
    world = World()
    world.start(None)
    world.send(e.Pause(None, CLIENT), keyed("k"))
    world.records.append(replace(world.records[-1], rev=3, **changed))
    world.crash()
    return Machine(world.session), world.records


def a_request_twice() -> tuple[Machine, list[j.Record]]:
    return retold(outcomes=())


def an_outcome_twice() -> tuple[Machine, list[j.Record]]:
    return retold(request=None)


def an_outcome_of_nothing() -> tuple[Machine, list[j.Record]]:
    return retold(request=None, outcomes=(j.KeyedOutcome(key="other", outcome={}),))


def an_input_twice() -> tuple[Machine, list[j.Record]]:
    """What was committed is committed again."""
    world = dispatched("ask")
    world.send(e.Cancel(None, None, CLIENT))
    world.records.append(replace(world.records[1], rev=len(world.records) + 1))
    world.crash()
    return Machine(world.session), world.records


def an_input_of_nowhere() -> tuple[Machine, list[j.Record]]:
    """What never waited is withdrawn."""
    world = dispatched("ask")
    world.records.append(j.Record(len(world.records) + 1, "T", j.Withdrawn(input_id="i9", client=CLIENT)))
    world.crash()
    return Machine(world.session), world.records


@pytest.mark.parametrize(
    ("story", "sentence"),
    [
        (another_memory, REPLAYED),
        (no_journal, REPLAYED),
        (a_hole, GAPLESS),
        (a_start_too_many, ONCE),
        (a_request_twice, REMEMBERED),
        (an_outcome_twice, REMEMBERED),
        (an_outcome_of_nothing, REMEMBERED),
        (an_input_twice, ENDED),
        (an_input_of_nowhere, ENDED),
    ],
)
def test_a_journal_that_breaks_an_invariant_is_told_which(
    story: Callable[[], tuple[Machine, list[j.Record]]], sentence: str
) -> None:
    with pytest.raises(BrokenInvariant) as raised:
        check_journal(*story())
    assert raised.value.args == (sentence,)


def test_revisions_may_begin_anywhere_and_rise_by_one() -> None:
    world = World()
    world.start(None)
    world.send(e.Pause(None, CLIENT))
    created, paused = world.records
    later = [replace(created, rev=41), replace(paused, rev=42)]
    check_journal(Machine(replace(world.session, revision=42, first_rev=41)), later)


@pytest.mark.parametrize("again", ["idempotent", "rerun"])
def test_a_call_may_start_twice_where_it_is_safe_or_somebody_chose_it(again: str) -> None:
    world = crashed("safe" if again == "idempotent" else "run")
    if again == "rerun":
        complete(world, "c1", o.Rerun())
    else:
        world.drive()
    assert world.types().count("call-started") == 2
    check_journal(world.machine, world.records)


def test_a_choice_allows_one_start_and_no_more() -> None:
    world = crashed("run")
    complete(world, "c1", o.Rerun())
    started = world.records[-1].data
    world.crash()
    world.records.append(j.Record(len(world.records) + 1, "T", started))
    world.crash()
    with pytest.raises(BrokenInvariant) as raised:
        check_journal(world.machine, world.records)
    assert raised.value.args == (ONCE,)


def test_a_sound_machine_breaks_nothing() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(answer(*asked("run", "ask", "no", "gone", "bg")))
    check(world.machine)
    check_journal(world.machine, world.records)
