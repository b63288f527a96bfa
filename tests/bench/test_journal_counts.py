"""What a step writes, and what it takes to write it, in numbers that no other work changes: bytes, tasks, calls."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from support.costs import calls_counted

from abey.runtime.store.codec import encode_unit
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.scan import scan
from bench.inside import inside

TURNS = 12
MOST_BYTES = 4032
"""Of a turn whose revisions have three digits; 4,024 when this was written."""
MOST_CALLS = 50
"""Functions, of Python and of C, that it takes to make a line of a record; 45 when this was written."""


async def turns(state: Path, number: int) -> None:
    async with inside(state, FileIO("process")) as opened:
        live = await opened.start("s")
        for _ in range(number):
            await opened.turn(live)


def journal(state: Path) -> bytes:
    return (state / "sessions" / "s" / JOURNAL).read_bytes()


def test_a_turn_writes_no_more_bytes_than_it_may(tmp_path: Path) -> None:
    asyncio.run(turns(tmp_path / "state", TURNS))
    data = journal(tmp_path / "state")
    last = data.splitlines(keepends=True)[-12:]
    assert b'"type":"input"' in last[0]
    assert len(b"".join(last)) <= MOST_BYTES


def test_a_turn_has_a_task_for_each_request_and_one_for_each_piece_of_work(tmp_path: Path) -> None:
    made = Counter[str]()

    def make(loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
        made[work.__qualname__] += 1
        return asyncio.Task(work, loop=loop, **more)

    async def counted() -> None:
        asyncio.get_running_loop().set_task_factory(make)
        await turns(tmp_path / "state", TURNS)
        asyncio.get_running_loop().set_task_factory(None)

    asyncio.run(counted())
    assert made == {
        "Undisturbed._tell": 1 + 2 * TURNS,  # the start; the prompt and the approval
        "InFlight._to_its_end": 3 * TURNS,  # two model calls and a tool
    }


def test_a_record_becomes_a_line_with_no_more_calls_than_it_may(tmp_path: Path) -> None:
    asyncio.run(turns(tmp_path / "state", TURNS))
    units = scan(journal(tmp_path / "state")).units[-5:]
    carried: dict[str, str] = {}
    for unit in units:  # whatever is worked out once is
        encode_unit(unit, 0, {}, carried)
    with calls_counted() as count:
        for unit in units:
            encode_unit(unit, 0, {}, carried)
        calls = count()
    assert calls / sum(map(len, units)) <= MOST_CALLS
