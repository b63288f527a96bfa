"""How long a long session takes to open, with its snapshot and without, and what the snapshots weigh."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.figures import Figures
from support.long_sessions import AT, Long, write_journal

from abey.runtime.reviving import Followed, follow
from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Damaged, Opened, load_journal, open_journal
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.snapshots import write_snapshot

pytestmark = pytest.mark.figures

DISK = FileIO("process")
TRIES = 3

Opening = Callable[[FileIO, Path, str], Opened | Damaged]


def opened(opening: Opening, directory: Path) -> tuple[Followed, float]:
    """The session, and the least CPU time that opening it took: others may use the machine."""
    took = []
    for _ in range(TRIES):
        began = time.process_time()
        followed = follow(opening(DISK, directory, AT))
        took.append(time.process_time() - began)
    assert isinstance(followed, Followed)
    return followed, min(took)


def weigh(directory: Path, long: Long, what: str, figures: Figures) -> float:
    """CPU seconds to open a session from its snapshot."""
    journal = write_journal(directory, long)
    whole, without = opened(open_journal, directory)
    session, end = whole.history.session, whole.found.journal.end
    assert session is not None
    snapshot = Snapshot(session, end, whole.found.journal.hash, whole.history.next_seq)
    size = write_snapshot(DISK, directory, snapshot)
    loaded, seconds = opened(load_journal, directory)
    assert (loaded.machine, loaded.found.base.snapshot) == (whole.machine, snapshot)
    figures.note(
        f"opening {what}: CPU seconds without a snapshot, with one; one snapshot in journals",
        f"{without:.2f}, {seconds:.2f}; {size / journal:.2f}",
        f"{journal / 1e6:.1f} MB, {end.revision} records",
    )
    assert size < journal
    return seconds


def test_a_session_of_400_turns_opens_from_its_snapshot_at_once(tmp_path: Path, figures: Figures) -> None:
    turns = figures.size(100, 400)
    seconds = weigh(tmp_path / "s1", Long(turns, calls=1, output=700), f"{turns} turns", figures)
    assert seconds <= 0.1


def test_a_session_of_100_mb_opens_from_its_snapshot_in_two_seconds(tmp_path: Path, figures: Figures) -> None:
    turns = figures.size(20, 1900)
    seconds = weigh(tmp_path / "s1", Long(turns, calls=3, output=16_000), "large outputs", figures)
    assert seconds <= 2
