"""Two clients that answer one call in the same moment, over the socket of a real daemon."""

from random import Random

import pytest
from support.e2e import Place
from support.races_of_clients import PAIRS, race

ROUNDS = 60


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_of_two_answers_one_counts_and_both_clients_are_told_which(place: Place, pair: str) -> None:
    assert race(place, pair, ROUNDS, Random(pair)) == []
