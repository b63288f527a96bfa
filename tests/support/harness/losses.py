"""Power losses: sessions on a disk that tells what it may have kept, and what a daemon finds there afterwards."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

from support.harness.power import PowerIO
from support.harness.stories import InvalidState, RecordFailed, Story, looked_at

from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store

MOVES = 14
LATER = "2026-01-01T00:00:00.000Z"


@dataclass
class Losses:
    """What was tried: states of the disk, sessions that were acknowledged in them, tails that were cut off."""

    states: int = 0
    sessions: int = 0
    repaired: int = 0


def lose_power(folder: Path, chance: Random, states: int) -> Losses:
    """Raises Vanished or AssertionError for the first state that breaks a promise."""
    found = Losses()
    for number in count():
        root = folder / f"machine{number}"
        root.mkdir()
        _live(root, chance, found)
        shutil.rmtree(root)
        if found.states >= states:
            return found
    raise AssertionError


def _live(root: Path, chance: Random, found: Losses) -> None:
    """Two sessions, some of whose writes fail, on one disk; at some of its calls the power goes."""
    io = PowerIO(root, chance, shaky=chance.choice([0.0, 0.05]))
    shaky, io.shaky = io.shaky, 0.0
    store = Store(root, io)
    io.shaky = shaky
    stories = [Story(f"s{number}", chance, fat=0.08) for number in range(2)]

    def power_goes() -> None:
        if chance.random() < 0.3:
            for _ in range(4):
                _look(io, root.with_name(f"{root.name}-left"), stories, chance, found)

    io.before = power_goes
    for _ in range(MOVES):
        _move(store, chance.choice(stories), chance)
    for story in stories:
        story.close()


def _move(store: Store, story: Story, chance: Random) -> None:
    with suppress(RecordFailed, InvalidState):
        if story.machine is None:
            story.create(store)
        elif story.dead or chance.random() < 0.05:
            story.reopen(store)
        elif chance.random() < 0.1:
            story.close()
            story.open(store)
        elif chance.random() < 0.1:
            story.remember(store)
        else:
            story.go_on()


def _look(io: PowerIO, target: Path, stories: list[Story], chance: Random, found: Losses) -> None:
    io.leave(target, chance)
    store = Store(target, FileIO("process"))
    for story in stories:
        if story.acknowledged:
            _check(store, story, found)
    found.states += 1
    shutil.rmtree(target)


def _check(store: Store, story: Story, found: Losses) -> None:
    opened = looked_at(store, story, LATER)
    found.sessions += 1
    found.repaired += opened.records[-1].at == LATER  # nothing else is written then
