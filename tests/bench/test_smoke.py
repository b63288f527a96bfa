"""The command measures what has a target, and says whether it is met."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.running import MEASURES, measured
from bench.spreads import Spread, percentile, spread
from bench.table import table
from bench.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> str:
    command = [sys.executable, "-m", "bench", "--quick", "--reps", "1", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_figure_is_told_with_its_target_and_what_came_of_it(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in bench("--only", "inside", "--json", "--scratch", str(tmp_path)).splitlines()]
    [syncs] = [line for line in lines if line.get("figure") == "syncs.run"]
    assert syncs == {"figure": "syncs.run", "median": 5.0, "least": 5.0, "most": 5.0}
    [target] = [line for line in lines if line.get("target") == "syncs.run"]
    assert target == {
        "target": "syncs.run",
        "what": "syncs of a turn, run mode",
        "kind": "most",
        "bound": 5,
        "met": True,
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_every_target_is_measured_and_so_is_what_stands_beside_it(tmp_path: Path) -> None:
    found = {figure for name in MEASURES for figure in measured(name, True, tmp_path)}
    named = {name for target in TARGETS for name in (target.figure, *target.beside)}
    assert named - found <= {"syncs.strace"}  # where there is no strace


def test_ratios_come_first_and_a_target_that_is_not_met_says_so() -> None:
    found = {"ping.ratio": spread([1.2, 1.4, 1.3]), "syncs.run": spread([6]), "ping": spread([0.25])}
    assert table(found).splitlines() == [
        "| figure                                         | median | least to most | target  |         | beside it |",
        "| ---------------------------------------------- | ------ | ------------- | ------- | ------- | --------- |",
        "| ping over the socket / plain asyncio with json | 1.3 ×  | 1.2 to 1.4    | ≤ 1.5 × | met     | ping 0.25 |",
        "| syncs of a turn, run mode                      | 6      | 6 to 6        | ≤ 5     | NOT MET |           |",
    ]


@pytest.mark.parametrize(
    ("kind", "median", "met"),
    [("most", 5, True), ("most", 5.1, False), ("least", 5, True), ("least", 4.9, False)],
)
def test_the_median_is_held_against_the_bound(kind: str, median: float, met: bool) -> None:
    assert Target("x", "x", 5, kind=kind).is_met(Spread(median, 0, 100)) is met


def test_a_spread_is_the_median_the_least_and_the_most() -> None:
    assert spread([3, 1, 2]) == Spread(2, 1, 3)
    assert [percentile(range(100), share) for share in (0, 0.5, 0.99, 1)] == [0, 50, 99, 99]
