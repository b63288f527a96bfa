"""Renaming, putting away, and sessions that were made from a file (machine.md, Write before you act)."""

from dataclasses import replace

import pytest
from support.stories import dispatched, states
from support.world import CLIENT, World

from abey.core import events as e
from abey.core.replay import apply
from abey.core.views import session_view
from abey.protocol import journal as j


def update(world: World, title: str | None = None, archived: bool | None = None) -> tuple[j.RecordData, ...]:
    done = world.send(e.Update(title, archived, CLIENT))
    return tuple(record.data for record in done.records)


def test_a_new_title_is_recorded_and_shown_and_nothing_else_changes() -> None:
    world = dispatched("ask")
    before = session_view(world.machine, None)
    assert update(world, title="Better") == (j.Updated(title="Better", client=CLIENT),)
    after = session_view(world.machine, None)
    assert after == before.model_copy(
        update={"title": "Better", "revision": before.revision + 1, "updated_at": after.updated_at}
    )


def test_what_is_so_already_is_not_recorded_again() -> None:
    world = dispatched("ask")
    assert update(world, title=world.session.title, archived=False) == ()
    assert update(world, archived=True) == (j.Updated(archived=True, client=CLIENT),)
    assert update(world, archived=True) == ()
    assert update(world, archived=False) == (j.Updated(archived=False, client=CLIENT),)


@pytest.mark.parametrize("ending", ["running", "stopped"])
def test_a_session_can_be_renamed_in_every_state(ending: str) -> None:
    world = dispatched("run")
    if ending == "stopped":
        world.tool_ends("run")
        world.send(e.Stop(None, CLIENT))
    update(world, title="Better", archived=True)
    assert (world.session.title, world.session.archived) == ("Better", True)
    assert session_view(world.machine, None).archived is True


def test_a_call_that_was_free_to_run_may_have_run_elsewhere_and_one_that_waits_still_waits() -> None:
    session = dispatched("run", "ask", "no", "safe").session
    imported = j.Record(session.revision + 1, "T", j.Imported(format="jsonl", source="a.jsonl"))
    after = apply(session, imported)
    batch = after.batch
    assert batch is not None
    assert {call.call_id: (call.state, call.in_doubt) for call in batch.calls} == {
        "c1": ("uncertain", True),
        "c2": ("deferred", False),
        "c3": ("denied", False),
        "c4": ("uncertain", True),
    }


def test_an_imported_session_without_open_calls_is_as_its_records_say() -> None:
    world = World()
    world.start(None)
    imported = j.Record(2, "T", j.Imported(format="agents-exe", source="a.json", original="{}"))
    expected = replace(world.session, revision=2, created_at="T", updated_at="T")
    assert apply(world.session, imported) == expected
    assert states(world) == {}
