"""One fault at the n-th call to the disk, for every n until a whole run meets none."""

import errno
import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

from support.harness.stories import InvalidState, RecordFailed, Story, Vanished, looked_at

from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Damaged
from abey.runtime.store.store import Store

NUMBERS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EFBIG)
KINDS = tuple(
    Fault(0, number, write, sticky)
    for number in NUMBERS
    for write in ("raises", "short", "partial")
    for sticky in (False, True)
)
FEW = tuple(kind for kind in KINDS if kind.number == errno.ENOSPC or (kind.write, kind.sticky) == ("raises", False))
"""Every kind once with one errno, and every errno once."""

MOVES = 7
LATER = "2026-01-01T00:00:00.000Z"


@dataclass
class Faults:
    runs: int = 0
    met: int = 0


def fault_everywhere(folder: Path, seed: str, kinds: tuple[Fault, ...] = KINDS) -> Faults:
    """Raises Vanished or AssertionError for the first run that breaks a promise. The run without faults is the same
    for every n: same seed, same calls."""
    found = Faults()
    for kind in kinds:
        for at in count():
            root = folder / f"fault{found.runs}"
            root.mkdir()
            calls = _run(root, Random(seed), Fault(at, kind.number, kind.write, kind.sticky))
            shutil.rmtree(root)
            found.runs += 1
            if calls <= at:
                break
            found.met += 1
    return found


def _run(root: Path, chance: Random, fault: Fault) -> int:
    """A session on a faulty disk and another one on a good part of it; how many calls the first one made."""
    Store(root, FileIO("process"))
    io = FaultyIO(fault)
    store, good = Store(root, io), Store(root, FileIO("process"))
    story, other = Story("s1", chance, fat=0.1), Story("s2", Random("other"))
    other.create(good)
    for move in range(MOVES):
        _move(store, story, move, fault)
        other.go_on()
    # the disk is good again, and the session goes on: reopened where it failed, as it is where it did not
    calls, io.fault = len(io.calls), None
    if story.acknowledged:
        _good_again(store, story)
    else:
        _never_was(good, story)
    story.close()
    other.close()
    _whole(good, story)
    _whole(good, other)
    return calls


def _move(store: Store, story: Story, move: int, fault: Fault) -> None:
    try:
        if story.machine is None:
            story.create(store)
        elif story.dead:
            story.reopen(store)
        elif move == MOVES // 2:
            story.remember(store)
            story.close()
            story.open(store)
        else:
            story.go_on()
    except RecordFailed as failed:
        _nothing_stays(story, fault)
        # a write that takes only a part is a failure of its own
        numbers = (fault.number, errno.EIO) if fault.write == "short" else (fault.number,)
        assert failed.details["errno"] in numbers, failed
        assert failed.details["errnoName"] == errno.errorcode[failed.details["errno"]]
    except (Vanished, InvalidState):
        # it cannot be read while the disk is bad; or what a failed creation left is in the way
        story.close()


def _nothing_stays(story: Story, fault: Fault) -> None:
    """What a failed write left was cut off, where the disk took that."""
    if story.journal is not None and story.journal.path.exists() and not fault.sticky:
        assert story.journal.path.stat().st_size == story.journal.size, "what a failed write left is still there"


def _good_again(store: Store, story: Story) -> None:
    story.reopen(store)
    story.go_on()


def _never_was(store: Store, story: Story) -> None:
    """A creation that failed leaves nothing, or something that is listed as damaged; its id can be seen to be so."""
    if story.id in store.ids():
        found = store.open(story.id, LATER)
        assert isinstance(found, Damaged) or found.records in story.attempts, found


def _whole(store: Store, story: Story) -> None:
    if story.acknowledged:
        found = looked_at(store, story, LATER)
        assert found.records == story.acknowledged, "something is there twice"
