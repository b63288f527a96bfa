"""Four clients race on one daemon that is ended again and again: every operation and event is logged and judged."""

from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery
from support.figures import Figures
from support.jepsen.chaos import chaos, size
from support.jepsen.checker import violations
from support.jepsen.history import History

pytestmark = pytest.mark.figures

ROUND = 40
"""Restarts on one machine: more of them would make sessions whose events are not all kept."""


def test_clients_and_restarts_break_no_promise(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    histories: list[History] = []
    left = figures.size(40, 1000)
    while left > 0:
        restarts, number = min(left, ROUND), len(histories)
        with closing(Place(tmp_path / f"machine {number}")) as place:
            history = chaos(place, nursery, f"{figures.seed}:many clients:{number}", restarts)
        assert violations(history) == [], size([history])
        histories.append(history)
        left -= restarts
        print(size(histories), flush=True)
    figures.note("promises broken for clients that race over restarts", 0, size(histories))
