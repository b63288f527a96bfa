"""Lists of many sessions: how long they take, and what the index costs a step and the disk."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.figures import Figures
from support.harness.running import memory
from support.listed import Listed
from support.many import copies
from support.shell import CLIENT, Shell, outcome
from support.world import answer, text_parts

from abey.core import events as e
from abey.core.conversation import ModelAnswer

pytestmark = pytest.mark.figures

Clock = tuple[float, float]


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=memory()) as made:
        yield Path(made)


def replies(turns: int) -> list[ModelAnswer]:
    """A turn is a call and an answer."""
    asked = [answer((f"c{n}", "run", f'{{"x": "{n}"}}'), text=f"Step {n}: a look at file {n}. ") for n in range(turns)]
    said = [answer(text=f"The answer to question {n} is {7 * n} degrees, and so on.") for n in range(turns)]
    return [reply for pair in zip(asked, said, strict=True) for reply in pair]


async def drive(shell: Shell, turns: int) -> int:
    """A session of so many turns; its steps."""
    live = (await shell.start()).live
    for number in range(turns):
        if number:
            new = e.NewInput(text_parts(f"and question {number}?"))
            await shell.scheduler.submit(live, e.Send(new, None, CLIENT))
        for _ in range(3):
            await outcome(await shell.drive(live))
        if isinstance(shell, Listed) and not number % 2:
            shell.clock.advance(1)
    return 3 * turns


def now() -> Clock:
    return time.monotonic(), time.process_time()


def since(start: Clock) -> str:
    """Wall and processor time."""
    wall, cpu = (after - before for before, after in zip(start, now(), strict=True))
    return f"{wall * 1000:.0f} ms, {cpu * 1000:.0f} ms of a processor"


async def test_many_sessions_are_listed_quickly(folder: Path, figures: Figures) -> None:
    first = Listed(folder, replies(1))
    await drive(first, 1)
    await first.close()
    first.file.unlink()
    count = figures.size(200, 10_000)
    copies(folder / "sessions/s1/journal.jsonl", [f"c{number:05d}" for number in range(count - 1)])
    journals = sum(path.stat().st_size for path in (folder / "sessions").glob("*/journal.jsonl"))
    size = f"{count} sessions"

    listed = Listed(folder, [])
    start = now()
    assert len(await listed.ids()) == 100
    figures.note("list without an index", since(start), size)
    await listed.close()
    figures.note("bytes of the index for one of the journals", f"{listed.file.stat().st_size / journals:.2f}", size)

    listed = Listed(folder, [])
    start = now()
    assert len(await listed.ids()) == 100
    figures.note("first list of a daemon", since(start), size)
    for what, params in {"list": {}, "search": {"query": "degrees ques"}, "pending": None}.items():
        start = now()
        found = await listed.waiting() if params is None else await listed.shown(**params)
        figures.note(f"{what}, again", since(start), size)
        assert len(found["items"]) == (0 if params is None else 100)
    assert listed.sessions.entries == {}
    await listed.close()


async def test_a_step_costs_no_more_with_an_index(folder: Path, figures: Figures) -> None:
    turns = figures.size(20, 400)
    costs = {}
    for kind in (Shell, Listed):
        shell = kind(folder / kind.__name__, replies(turns))
        start = time.process_time()
        steps = await drive(shell, turns)
        costs[kind] = (time.process_time() - start) * 1000 / steps
        await (shell.close() if isinstance(shell, Listed) else shell.scheduler.close())
    file, journal = folder / "Listed/index.sqlite", folder / "Listed/sessions/s1/journal.jsonl"
    size = f"{turns} turns, written behind every 6 steps"
    figures.note(
        "processor time of a step without and with an index", f"{costs[Shell]:.2f}, {costs[Listed]:.2f} ms", size
    )
    figures.note("bytes of the index and of the journal", f"{file.stat().st_size}, {journal.stat().st_size}", size)
    assert file.stat().st_size < max(2 * journal.stat().st_size, 200_000)
    shutil.rmtree(folder / "Shell")
