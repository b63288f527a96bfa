"""The store against a model of it: whatever happens in whatever order, it keeps what it promised."""

import shutil
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from support.figures import Figures
from support.harness.power import PowerIO
from support.harness.running import memory
from support.harness.stories import InvalidState, RecordFailed, Story, looked_at

from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.repairing import Mendable
from abey.runtime.store.store import Store

pytestmark = pytest.mark.figures

SEEDS = st.integers(0, 1 << 32)
LATER = "2026-01-01T00:00:00.000Z"
STEPS = [0]


class Kept(RuleBasedStateMachine):
    """The model is the story: the records that were acknowledged, and those of the one write that failed."""

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self.folder = Path(mkdtemp(dir=memory()))
        self.machines = 0
        (self.folder / "0").mkdir()
        self.story = Story("s1", Random(seed))
        self._boot(self.folder / "0")
        self.story.create(self.store)

    @rule(seed=SEEDS)
    def append(self, seed: int) -> None:
        self._write(seed, 0.0)

    @rule(seed=SEEDS)
    def append_on_a_bad_disk(self, seed: int) -> None:
        self._write(seed, 0.5)

    @rule(seed=SEEDS, shaky=st.sampled_from([0.0, 0.3]))
    def reopen(self, seed: int, shaky: float) -> None:
        self.io.shaky = shaky
        try:
            self.story.reopen(self.store)
        except RecordFailed:
            assert shaky
        finally:
            self.io.shaky = 0.0

    @rule()
    def kill(self) -> None:
        """A new daemon on the same disk."""
        self.story.close()
        self.store = Store(self.io.root, self.io)
        self.story.open(self.store)

    @rule(seed=SEEDS)
    def lose_power(self, seed: int) -> None:
        self.machines += 1
        left = self.folder / f"{self.machines}"
        self.io.leave(left, Random(seed))
        self.story.close()
        self._boot(left)
        self.story.open(self.store)

    @rule()
    def create_again(self) -> None:
        with pytest.raises(InvalidState):
            self.store.create(self.story.id, self.story.attempts[0])

    @rule()
    def snapshot(self) -> None:
        self.story.remember(self.store)

    @rule(seed=SEEDS)
    def repair(self, seed: int) -> None:
        """Of a copy whose journal was damaged: the original stays, and what comes before the damage with it."""
        chance, copy = Random(seed), self.folder / "copy"
        shutil.copytree(self.io.root, copy)
        store, directory = Store(copy, FileIO("process")), copy / "sessions" / self.story.id
        data = bytearray((directory / "journal.jsonl").read_bytes())
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        (directory / "journal.jsonl").write_bytes(data)
        before = store.open(self.story.id, LATER)
        found = store.examine(self.story.id, lambda _: None)
        if isinstance(before, Damaged) and isinstance(found, Mendable):
            store.repair(self.story.id, found, LATER)
            after = store.open(self.story.id, LATER)
            assert isinstance(after, Opened), after
            assert after.records[: len(before.records)] == before.records
            assert after.records[-1].data.type == "repaired"
            assert found.original.read_bytes() == bytes(data)
        shutil.rmtree(copy)

    @rule()
    def close(self) -> None:
        self.story.close()

    @invariant()
    def another_look_finds_what_was_promised(self) -> None:
        STEPS[0] += 1
        if not self.story.tried:
            assert looked_at(self.store, self.story, LATER).records == self.story.acknowledged

    def teardown(self) -> None:
        self.story.close()
        shutil.rmtree(self.folder)

    def _boot(self, root: Path) -> None:
        self.io = PowerIO(root, self.story.chance)
        self.store = Store(root, self.io)

    def _write(self, seed: int, shaky: float) -> None:
        if self.story.dead:
            return
        # the choices of the story and of the disk are one sequence
        self.story.chance.seed(seed)
        self.io.shaky = shaky
        try:
            self.story.go_on()
        except RecordFailed:
            assert shaky
        finally:
            self.io.shaky = 0.0


def test_the_store_keeps_what_it_promised_in_any_order(figures: Figures) -> None:
    STEPS[0] = 0
    examples = figures.size(25, 2000)
    checks = list(HealthCheck)
    options = settings(max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(seed(figures.seed)(Kept), settings=options)  # type: ignore[no-untyped-call]  # hypothesis has no type for it
    figures.note("steps of a store in any order after which a promise was broken", 0, f"{STEPS[0]} steps")
