"""Sessions that are opened from the disk: a long one and a large one."""

import asyncio
import time
from pathlib import Path
from statistics import median

from abey.runtime.store.io import FileIO
from bench import work
from bench.figures import Figures
from bench.inside import inside
from bench.machine import Machine
from bench.sizes import Size

_CALLS = 64
_OUTPUT = "x" * 79 + "\n"
_LINES = 200
"""What a call of the large session prints: 16 KB, so that its turns are of a megabyte."""


def measure(size: Size, folder: Path) -> Figures:
    long, large = Machine(folder / "long"), Machine(folder / "large")
    asyncio.run(_make_long(long, size.turns[-1]))
    asyncio.run(_make_large(large, size.large))
    tries = max(1, size.tries // 7)
    return {"open.long": median(_opened(long, tries)), "open.large": median(_opened(large, tries))}


def _opened(machine: Machine, tries: int) -> list[float]:
    """Seconds from the question for the session to its answer, each of a daemon that has just started."""
    took = []
    for _ in range(tries):
        with machine.serving() as (_, client):
            client.request("agents/status")  # what a first request imports is there
            began = time.perf_counter()
            client.request("agents/get", sessionId="s")
            took.append(time.perf_counter() - began)
    return took


async def _make_long(machine: Machine, turns: int) -> None:
    async with inside(machine.state, FileIO("process")) as opened:
        live = await opened.start("s")
        for _ in range(turns):
            await opened.turn(live)


async def _make_large(machine: Machine, size: int) -> None:
    """Until its journal has so many bytes."""
    config = work.config(calls=_CALLS, asks=False)
    async with inside(machine.state, FileIO("process"), config, _OUTPUT * _LINES) as opened:
        live = await opened.start("s")
        journal = machine.state / "sessions" / "s" / "journal.jsonl"
        while journal.stat().st_size < size:
            await opened.prompt(live)
