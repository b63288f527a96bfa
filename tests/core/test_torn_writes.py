"""What a torn write leaves, and records that cannot follow (machine.md, After a crash; journal.md, Recovery)."""

from dataclasses import replace

import pytest
from support.stories import Came, asked, came, complete, completion, dispatched, find, refused, repaired, states
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.edits import IllegalRecord
from abey.core.history import result_of
from abey.core.replay import apply, fold
from abey.core.session import NoteEntry
from abey.core.views import items
from abey.protocol import journal as j
from abey.protocol import outcomes as o

TORN = (
    "7 bytes of a torn or damaged write were cut off the journal at byte 100 and kept beside it;"
    " the session has lost what they told, and calls told there may have run"
)
NAMES = ("run", "ask", "bg", "no", "safe")


def test_a_torn_write_makes_every_unfinished_call_uncertain_and_leaves_a_note() -> None:
    world = dispatched(*NAMES)
    world.tool_ends("run")
    repaired(world)
    assert states(world) == {"c1": "completed", "c2": "uncertain", "c3": "uncertain", "c4": "denied", "c5": "uncertain"}
    assert world.session.turn.entries[-1] == NoteEntry(
        TORN,
        world.session.revision,
        world.context().now,
    )
    assert came(world.drive()) == Came([], ["end waiting after 0"], "partialUserTurn")


def test_a_torn_write_makes_undecided_calls_uncertain_once_they_are_decided() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(*asked(*NAMES, "gone")))
    repaired(world)
    assert (world.session.state, set(states(world).values())) == ("llmTurn", {"ready"})
    assert came(world.drive()).did == ["end advanced after 1"]
    assert list(states(world).values()) == ["uncertain", "uncertain", "uncertain", "denied", "uncertain", "failed"]


def test_a_call_in_doubt_that_is_run_again_is_in_doubt_no_more() -> None:
    world = repaired(dispatched("safe"))
    complete(world, "c1", o.Rerun())
    assert states(world) == {"c1": "running"}
    world.crash()
    assert states(world) == {"c1": "ready"}


@pytest.mark.parametrize("ending", ["cancel of the call", "cancel of the turn"])
def test_what_is_told_of_a_call_in_doubt_says_that_it_may_have_run(ending: str) -> None:
    world = repaired(dispatched("ask"))
    if ending == "cancel of the call":
        complete(world, "c1", o.CancelCall())
    else:
        world.send(e.Cancel(None, None, CLIENT))
    told = result_of(find(world, "c1")).content
    assert told == "cancelled by user; it may have run"


def note(world: World) -> NoteEntry:
    """What people are told of the repair that was recorded last."""
    return NoteEntry(TORN, world.session.revision, world.context().now)


def test_a_torn_write_after_the_end_of_a_turn_is_told_in_that_turn() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(text="hi"))
    before = world.session.turns[0]
    assert before.end == "answered"
    repaired(world)
    assert world.session.turns == (replace(before, entries=(*before.entries, note(world))),)
    assert [item.kind for item in items(world.session)] == ["input", "answer", "note"]
    assert world.session.state == "completed"


def test_a_torn_write_before_the_first_turn_is_told_in_that_one() -> None:
    world = World()
    world.start(None)
    before = world.session
    repaired(world)
    told = note(world)
    assert world.session == replace(before, revision=2, updated_at=world.context().now, untold=(told,))
    world.send(e.Send(e.NewInput(text_parts("hello")), None, CLIENT))
    assert (world.session.turns[0].entries[0], world.session.untold) == (told, ())
    assert [item.kind for item in items(world.session)] == ["note", "input"]


def test_a_repair_that_lost_nothing_leaves_every_call_as_it_was() -> None:
    world = dispatched(*NAMES)
    before = states(world)
    record = j.Record(world.session.revision + 1, "T", j.Repaired(offset=100, cut_bytes=7, may_have_run=False))
    after = apply(world.session, record)
    assert after.batch == world.session.batch
    text = "the journal was damaged at byte 100 and has been mended; nothing was lost"
    assert after.turns[-1].entries[-1] == NoteEntry(text, record.rev, "T")
    assert states(world) == before


WRONG = {
    "a session that does not begin with created": [j.Resumed(by="x")],
    "a call that was never asked for": [j.CallExpired(call_id="c9")],
    "a batch that is not finished": [j.ToolResults(turn_id="t", step_id="s", call_ids=())],
    "an input for another turn": [j.Input(turn_id="other", input_id="i", parts=())],
    "an end while calls are open": [j.Final(turn_id="t", step_id="s")],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_record_that_cannot_follow_is_refused(name: str) -> None:
    session = None if name.startswith("a session") else dispatched("ask").session
    revision = session.revision if session else 0
    for data in WRONG[name]:
        with pytest.raises(IllegalRecord):
            apply(session, j.Record(revision + 1, "T", data))


def test_a_hole_in_the_revisions_is_refused() -> None:
    world = dispatched("ask")
    with pytest.raises(IllegalRecord, match="record 9 cannot follow revision 6"):
        apply(world.session, j.Record(9, "T", j.Resumed(by="x")))


def test_an_empty_journal_is_no_session() -> None:
    assert fold([]) is None


def test_what_only_others_can_run_is_never_run_again_here_after_a_torn_write() -> None:
    for name in ("ext", "box"):
        world = repaired(dispatched(name))
        assert states(world) == {"c1": "uncertain"}
        assert refused(world, completion(world, "c1", o.Rerun()))["legal"] == ["result", "error", "cancel"]
