"""Answers that race, many times over: inside a daemon, and from two clients over its socket."""

from pathlib import Path
from random import Random

import pytest
from support import races_of_clients
from support.e2e import Place
from support.e2e_crash import Nursery
from support.figures import Figures
from support.races import PAIRS, race, unfair

pytestmark = pytest.mark.figures

ROUNDS = 500


@pytest.mark.parametrize("pair", PAIRS)
async def test_one_answer_counts_five_hundred_times(figures: Figures, pair: str, tmp_path: Path) -> None:
    figures.begin()
    ended = await race(tmp_path, pair, ROUNDS, figures.chance(pair))
    assert (len(ended), [one for one in ended if unfair(pair, one)]) == (ROUNDS, [])
    figures.note(f"{pair}, inside a daemon: one winner, and the tool as that says", ROUNDS, "races")


def test_what_was_denied_never_ran_five_hundred_times(figures: Figures, nursery: Nursery, tmp_path: Path) -> None:
    place = Place(tmp_path / "machine")
    nursery.wake(place).close()
    figures.begin()
    rounds = figures.size(200, ROUNDS)
    try:
        assert races_of_clients.race(place, "approve against deny", rounds, Random(figures.seed)) == []
    finally:
        place.close()
    figures.note("approve against deny, two clients over the socket: what was denied never ran", rounds, "races")
