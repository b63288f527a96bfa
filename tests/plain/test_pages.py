"""The page of a session: the end of its transcript, with the numbers that everything has in the whole."""

from pathlib import Path

import pytest
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.views import items, session_view
from abey.daemon.plain.pages import page_of
from abey.language.sessions.page import Before
from abey.language.sessions.rendering import shown

FOLDER = Path("/state/documents")


@pytest.fixture(scope="module")
def world() -> World:
    """Three turns; each but the last with two calls, a result of each, and an answer. In the last two calls wait."""
    world = World()
    world.start("first", e.THIS_TURN)
    for turn in range(2):
        world.model_says(answer((f"a{turn}", "run", "{}"), (f"b{turn}", "run", "{}"), text="calling"))
        world.tool_ends()
        world.tool_ends()
        world.model_says(answer(text=f"done {turn}"))
        world.send(e.Send(e.NewInput(text_parts("again"), f"i{turn}", "turn"), e.THIS_TURN, CLIENT))
    world.model_says(answer(("c0", "soon", "{}"), ("c1", "soon", "{}"), text="waiting"))
    return world


@pytest.mark.parametrize("most", range(1, 30))
def test_the_end_of_a_transcript_has_the_numbers_of_the_whole(world: World, most: int) -> None:
    view, everything = session_view(world.machine, None), list(items(world.session))
    page = page_of(view, world.session, FOLDER, most)
    left_out = page.before.items
    assert list(page.items) == everything[left_out:]
    assert page.before.calls == sum(one.call is not None for one in everything[:left_out])
    turns = list(dict.fromkeys(one.turn_id for one in everything))
    assert page.before.turns == turns.index(page.items[0].turn_id)
    assert [(one.n, one.pending.call_id) for one in page.waiting] == [(5, "c0"), (6, "c1")]
    assert shown(page).count("- call 6 ") == 1


def test_a_short_transcript_is_whole(world: World) -> None:
    page = page_of(session_view(world.machine, None), world.session, FOLDER)
    assert (page.before, list(page.items)) == (Before(), list(items(world.session)))
