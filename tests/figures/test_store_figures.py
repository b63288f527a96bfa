"""The store under every fault that can be made here: what was acknowledged is there, and nothing is there twice."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.figures import Figures
from support.harness.bytes_of_a_journal import flip_beside, flip_everywhere, real_journal, truncate_everywhere
from support.harness.faults_everywhere import FEW, KINDS, fault_everywhere
from support.harness.killing import kill_writers
from support.harness.losses import lose_power
from support.harness.running import memory

pytestmark = pytest.mark.figures


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=memory()) as made:
        yield Path(made)


def test_a_writer_killed_at_any_moment_loses_nothing(folder: Path, figures: Figures) -> None:
    found = kill_writers(folder, figures.chance("kills"), figures.size(200, 10_000))
    size = f"{found.kills} kills, {found.acknowledged} writes, {found.torn} torn tails"
    figures.note("acknowledged records lost after kill -9 of a writer", 0, size)


def test_every_truncation_opens_right(folder: Path, figures: Figures) -> None:
    whole = real_journal(folder / "state", figures.chance("truncations"), figures.size(8 << 10, 64 << 10))
    right = truncate_everywhere(whole, figures.size(256, 8))
    figures.note("truncations of a journal, at every byte, that open right", "all", f"{right} truncations")


def test_every_flipped_bit_is_seen(folder: Path, figures: Figures) -> None:
    whole = real_journal(folder / "state", figures.chance("flips"), figures.size(8 << 10, 64 << 10))
    flips = flip_everywhere(whole, figures.chance("bits"), figures.size(256, 8))
    figures.note("flipped bits, one in every byte of a journal, that nobody sees", 0, f"{flips} flips")


def test_every_flipped_bit_beside_the_journal_is_seen(folder: Path, figures: Figures) -> None:
    whole = real_journal(folder / "state", figures.chance("beside"), figures.size(8 << 10, 64 << 10))
    flips = flip_beside(whole, figures.chance("bits"), figures.size(32, 4))
    figures.note("flipped bits in snapshots and blobs that nobody sees", 0, f"{flips} flips")


def test_a_fault_at_any_call_loses_nothing(folder: Path, figures: Figures) -> None:
    found = fault_everywhere(folder, f"{figures.seed}", KINDS if figures.large else FEW)
    size = f"{found.runs} runs, {found.met} with a fault"
    figures.note("silent losses with a fault at each call to the disk", 0, size)


def test_a_power_loss_at_any_moment_loses_nothing(folder: Path, figures: Figures) -> None:
    found = lose_power(folder, figures.chance("power"), figures.size(2000, 100_000))
    size = f"{found.states} states, {found.sessions} sessions, {found.repaired} torn tails"
    figures.note("disk states after a power loss with an acknowledged record lost", 0, size)
    figures.note(
        "the histories for the provider in those states that are valid", "100 %", f"{found.sessions} histories"
    )
