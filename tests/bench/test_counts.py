"""What turns and starts cost in numbers that no other work changes: syncs, bytes, calls, blocks of memory, imports."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.costs import calls_counted

from abey.runtime.store.io import FileIO
from bench.inside import inside
from bench.measures.inside import measure
from bench.sizes import QUICK
from bench.spreads import spread
from bench.targets import TARGETS

COUNTED = ("syncs.run", "syncs.run.growth", "syncs.steps", "bytes.step.growth")


def test_a_turn_costs_as_many_syncs_and_bytes_as_it_may_and_no_more_in_a_longer_session(tmp_path: Path) -> None:
    found = measure(QUICK, tmp_path)
    targets = {target.figure: target for target in TARGETS}
    assert [name for name in COUNTED if not targets[name].is_met(spread([found[name]]))] == []


MOST_KEPT = 295
"""Blocks of memory that a turn leaves in a session that is in use; 289 when this was written."""
MOST_CALLS = 3150
"""Functions, of Python and of C, that the event loop's thread calls in a turn; 3,091 when this was written."""
HEAVY = {"asyncio", "cattrs", "httpx", "lsprotocol", "pydantic", "pygls", "ssl", "subprocess"}
LOADED = """
import sys
from abey.daemon import binding, main, settings, ways
from abey.runtime.store import locks
from abey.shared import owner, places
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
"""What the program imports until its socket is bound."""


def of_turns(state: Path, turns: tuple[int, ...], count: Callable[[], int]) -> list[int]:
    """What `count` has come to before the turns of these numbers, and what it is after them."""

    async def counted() -> list[int]:
        counts = []
        async with inside(state, FileIO("process")) as opened:
            live = await opened.start("s")
            for number in range(max(turns) + 1):
                before = count()
                await opened.turn(live)
                if number in turns:
                    counts.append(count() - before)
        return counts

    return asyncio.run(counted())


def blocks() -> int:
    """Of memory that are in use."""
    gc.collect()
    return sys.getallocatedblocks()


def test_a_turn_calls_as_many_functions_as_it_may_and_no_more_in_a_longer_session(tmp_path: Path) -> None:
    with calls_counted() as count:
        early, late = of_turns(tmp_path / "state", (10, 40), count)
    assert (late <= 1.1 * early, late <= MOST_CALLS) == (True, True), (early, late)


def test_what_a_turn_leaves_in_memory_is_bounded_and_does_not_grow(tmp_path: Path) -> None:
    kept = of_turns(tmp_path / "state", tuple(range(5, 25)), blocks)
    early, late = sum(kept[:10]) / 10, sum(kept[10:]) / 10
    assert (late <= 1.1 * early, late <= MOST_KEPT) == (True, True), kept


def test_the_socket_is_bound_before_anything_heavy_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()
