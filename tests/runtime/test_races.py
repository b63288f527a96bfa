"""Two answers to one call in the same moment: one counts, both are told which (machine.md, Completing)."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from support.races import PAIRS, race, unfair

ROUNDS = 40


@pytest.mark.parametrize("pair", PAIRS)
async def test_one_answer_counts_and_the_tool_runs_only_where_that_was_the_approval(pair: str, tmp_path: Path) -> None:
    ended = await race(tmp_path, pair, ROUNDS, Random(pair))
    assert [one for one in ended if unfair(pair, one)] == []
    assert len(Counter(one.applied for one in ended)) > 1, "nobody but one ever won"
