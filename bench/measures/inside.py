"""The core and the journal in process: syncs, bytes and processor time of steps, as a session grows."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.counting import CountingIO
from bench.figures import Figures
from bench.inside import Inside, inside
from bench.sizes import Size
from bench.work import STEPS_A_TURN


@dataclass(frozen=True, slots=True)
class Grown:
    """A session of some turns, without its first one: syncs and journal bytes of each turn, CPU seconds of all."""

    syncs: list[int]
    sizes: list[int]
    cpu: float
    journal: int

    @property
    def steps(self) -> int:
        return len(self.syncs) * STEPS_A_TURN


def measure(size: Size, folder: Path) -> Figures:
    return asyncio.run(_measure(size, folder))


async def _measure(size: Size, folder: Path) -> Figures:
    grown = {turns: await _grow(folder / f"{turns}", turns) for turns in size.turns}
    first, last = grown[size.turns[0]], grown[size.turns[-1]]
    figures = {f"cpu.inside.{turns}": one.cpu / one.steps * 1000 for turns, one in grown.items()}
    return {
        **figures,
        "cpu.inside": figures[f"cpu.inside.{size.turns[-1]}"],
        "cpu.inside.growth": figures[f"cpu.inside.{size.turns[-1]}"] / figures[f"cpu.inside.{size.turns[0]}"],
        "cpu.inside.sessions": await _many(folder / "many", size.sessions),
        "syncs.run": sum(last.syncs) / len(last.syncs),
        "syncs.run.growth": _tail(last.syncs) - sum(first.syncs) / len(first.syncs),
        "syncs.steps": await _step_by_step(folder / "steps"),
        "bytes.step": _tail(last.sizes) / STEPS_A_TURN,
        "bytes.step.growth": _tail(last.sizes) / (sum(first.sizes) / len(first.sizes)),
        "bytes.journal": last.journal,
    }


async def _grow(folder: Path, turns: int) -> Grown:
    """The first turn makes folders and imports what is needed: it is not counted, but for the size of the journal."""
    async with _opened(folder) as (opened, io):
        live = await opened.start("s")
        await opened.turn(live)
        syncs, sizes = [io.syncs], [_journal(folder)]
        began = time.process_time()
        for _ in range(turns - 1):
            await opened.turn(live)
            syncs.append(io.syncs)
            sizes.append(_journal(folder))
        cpu = time.process_time() - began
    return Grown(_differences(syncs), _differences(sizes), cpu, sizes[-1])


async def _many(folder: Path, sessions: int) -> float:
    """CPU milliseconds of a step where each is of another session than the one before."""
    async with _opened(folder) as (opened, _):
        lives = [await opened.start(f"s{number}") for number in range(sessions)]
        began = time.process_time()
        for _ in range(2):
            for live in lives:
                await opened.turn(live)
        return (time.process_time() - began) / (2 * STEPS_A_TURN * sessions) * 1000


async def _step_by_step(folder: Path) -> float:
    """Syncs of a turn whose every move is asked for."""
    async with _opened(folder) as (opened, io):
        live = await opened.start("s")
        await opened.turn(live)
        before = io.syncs
        await opened.turn_step_by_step(live)
        return io.syncs - before


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[tuple[Inside, CountingIO]]:
    io = CountingIO("power", folder.with_suffix(".syncs"))
    async with inside(folder / "state", io) as opened:
        yield opened, io


def _journal(folder: Path) -> int:
    return (folder / "state" / "sessions" / "s" / "journal.jsonl").stat().st_size


def _differences(values: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(values)]


def _tail(values: list[int]) -> float:
    """The mean of the last tenth."""
    tenth = values[-max(1, len(values) // 10) :]
    return sum(tenth) / len(tenth)
