"""What every crash leaves: the state a journal loads to after each of its units (machine.md, After a crash)."""

from dataclasses import dataclass

import pytest
from support.stories import Came, asked, came, complete, completion, dispatched, find, states
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.history import history
from abey.core.invariants import legal_history
from abey.core.machine import Machine
from abey.core.replay import recover
from abey.core.session import NoteEntry
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question

NAMES = ("run", "ask", "bg", "no", "safe")


@dataclass(frozen=True)
class Loaded:
    """What a unit wrote, and the session that loads from the journal up to it; `calls` in model order."""

    wrote: str
    state: str
    calls: str


def story() -> World:
    """One of each: sync, deferred, background, denied and idempotent, from the prompt to the answer."""
    world = World()
    world.start("hello", e.UNTIL_TURN)
    world.model_says(answer(*asked(*NAMES)))
    world.tool_ends("run")
    world.tool_ends("safe")
    complete(world, "c2", o.Approve())
    world.tool_ends("ask")
    world.tool_ends("bg", error="tool/failed")
    world.model_says(answer(text="done"))
    return world


DECIDED = "candidate 5×call-decided call-finished 3×call-started"
TABLE = [
    Loaded("created input model-requested", "userTurn", ""),
    Loaded(DECIDED, "partialUserTurn", "uncertain deferred uncertain denied ready"),
    Loaded("call-finished", "partialUserTurn", "completed deferred uncertain denied ready"),
    Loaded("call-finished waiting", "partialUserTurn", "completed deferred uncertain denied completed"),
    Loaded("call-resolved call-started", "partialUserTurn", "completed uncertain uncertain denied completed"),
    Loaded("call-finished", "partialUserTurn", "completed completed uncertain denied completed"),
    Loaded("call-finished tool-results model-requested", "userTurn", "completed completed failed denied completed"),
    Loaded("candidate final", "completed", "completed completed failed denied completed"),
]


def prefixes(world: World) -> list[World]:
    """The world after a crash behind each of its units."""
    cut = []
    for end in world.units:
        after = World(records=world.records[:end], counter=1000)
        after.crash()
        cut.append(after)
    return cut


def told(types: list[str]) -> str:
    """Record types in a row, repeats counted."""
    words: list[str] = []
    for name in dict.fromkeys(types):
        count = types.count(name)
        words.append(name if count == 1 else f"{count}×{name}")
    return " ".join(words)


def test_every_prefix_of_a_journal_loads_to_the_state_that_its_records_tell() -> None:
    world = story()
    starts = [0, *world.units[:-1]]
    wrote = [told(world.types()[start:end]) for start, end in zip(starts, world.units, strict=True)]
    loaded = [
        Loaded(unit, after.session.state, " ".join(states(after).values()))
        for unit, after in zip(wrote, prefixes(world), strict=True)
    ]
    assert loaded == TABLE


def test_nothing_starts_by_itself_and_nothing_is_written_when_a_journal_is_loaded() -> None:
    for after in prefixes(story()):
        assert after.machine == Machine(after.session)
        assert after.session.revision == len(after.records)


def test_the_history_is_legal_after_every_crash() -> None:
    assert all(legal_history(history(after.session)) for after in prefixes(story()))


def test_an_uncertain_call_never_runs_again_by_itself() -> None:
    for after in prefixes(story()):
        uncertain = {call_id for call_id, state in states(after).items() if state == "uncertain"}
        after.drive(e.UNTIL_TURN, resume=True)
        assert {call_id for call_id, _ in after.starts} & uncertain == set()


def test_every_prefix_can_be_brought_to_an_answer() -> None:
    for after in prefixes(story()):
        after.drive(e.UNTIL_TURN)
        for call_id, state in states(after).items():
            if state in ("uncertain", "deferred"):
                complete(after, call_id, o.Result(content="settled"))
        if "running" in states(after).values():
            after.tool_ends("safe")
        if after.session.state != "completed":
            after.model_says(answer(text="done"))
        assert after.session.turn.end == "answered"


def test_what_was_undecided_is_decided_by_the_next_step() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(*asked("run")))
    world.crash()
    assert (world.session.state, states(world)) == ("llmTurn", {"c1": "ready"})
    assert came(world.drive()).did == ["run run"]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (o.Result(content=1), "completed"),
        (o.Error(message="bad"), "failed"),
        (o.DenyCall(), "denied"),
        (o.CancelCall(), "cancelled"),
        (o.Approve(), "uncertain"),
    ],
)
def test_an_answered_call_is_finished_from_its_answer(outcome: o.AnyOutcome, state: str) -> None:
    world = dispatched("ask", "ext")
    complete(world, "c1", outcome)
    world.crash()
    assert states(world) == {"c1": state, "c2": "deferred"}


def test_results_that_are_all_there_are_committed_with_the_next_record() -> None:
    world = dispatched("run")
    world.tool_ends()
    assert world.types()[-1] == "tool-results"
    world.records.pop()
    world.crash()
    assert world.session.state == "userTurn"
    assert came(world.drive()).wrote == ["tool-results", "model-requested"]


def test_an_interrupted_model_call_leaves_a_note_and_is_made_again_by_a_run() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    world.crash()
    notes = [one for one in world.session.turn.entries if isinstance(one, NoteEntry)]
    assert notes == [NoteEntry("model call interrupted", 3, world.records[2].at)]
    assert (world.session.state, world.session.asked) == ("userTurn", None)
    assert came(world.drive(e.UNTIL_YIELD)) == Came(["model-requested"], ["ask model"], "userTurn", "model")
    world.model_says(answer(text="done"))
    world.crash()
    assert [type(one).__name__ for one in world.session.turn.entries] == ["InputEntry", "NoteEntry", "AnswerEntry"]


def test_a_try_that_a_crash_cut_is_made_again_as_the_same_try() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    world.crash()
    world.drive()
    assert world.effects[0].request.tries == 0


def test_an_idempotent_call_is_ready_again_and_runs_in_the_next_step() -> None:
    world = dispatched("safe")
    started_at = find(world, "c1").started_at
    world.crash()
    world.millis += 1000
    assert came(world.drive()) == Came(["call-started"], ["run safe"], "partialUserTurn", "tools")
    assert find(world, "c1").started_at == started_at


def test_the_run_and_the_cancel_that_a_crash_cut_are_gone() -> None:
    world = dispatched("run")
    world.send(e.Cancel(None, None, CLIENT))
    world.crash()
    assert (world.session.state, states(world)) == ("partialUserTurn", {"c1": "uncertain"})
    assert came(world.send(e.Cancel(None, None, CLIENT))).wrote == ["call-finished", "tool-results", "cancelled"]


def test_a_pause_and_a_queue_survive_a_crash() -> None:
    world = dispatched("ask")
    world.send(e.Pause("lunch", CLIENT))
    world.send(e.Send(e.NewInput((), "i1", "queue"), None, CLIENT))
    world.crash()
    queued = [(one.input_id, one.delivery) for one in world.session.queue]
    assert (world.session.paused.reason, queued) == ("lunch", [("i1", "queue")])


def test_a_question_dies_with_the_tool_that_asked_it() -> None:
    world = dispatched("bg")
    asked_by = world.effects[0].invocation_id
    world.send(e.ToolAsked(asked_by, Question(kind="response", prompt="who?")))
    world.crash()
    assert (find(world, "c1").state, find(world, "c1").question) == ("uncertain", None)
    assert came(world.send(completion(world, "c1", o.Rerun()))).did == ["run bg"]


def test_recovering_twice_is_recovering_once() -> None:
    for after in prefixes(story()):
        assert recover(after.session) == after.session
