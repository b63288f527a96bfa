"""Calls that are aborted at any moment, and aborted again while they end: nothing stays watched, all else goes on."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes import alive, run_shell, until

from abey.core.conversation import ToolOutcome
from abey.runtime.clock import ManualClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.helper import ProcessHelper

TURNS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 25, 40, 80)


@pytest.fixture(params=["helper", "groups"])
async def runner(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CommandRunner]:
    """It has run a program, so that a helper is there."""
    helper = ProcessHelper()
    runner = CommandRunner(helper if request.param == "helper" else GroupLauncher(), ManualClock(), {})
    await run_shell(runner, "true", tmp_path)
    yield runner
    await helper.close()


def watched() -> list[int]:
    """The descriptors that the loop watches."""
    return sorted(asyncio.get_running_loop()._selector.get_map())  # type: ignore[attr-defined]


async def aborted(running: asyncio.Task[ToolOutcome], *turns: int) -> None:
    """Cancels it after so many turns of the loop, and again and again; returns when it is through."""
    for count in turns:
        for _ in range(count):
            await asyncio.sleep(0)
        running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("again", [(), (0,), (1,), (2, 2), (7,), (1, 1, 1, 1, 1, 1)])
async def test_a_start_may_be_aborted_at_any_turn_of_the_loop(
    runner: CommandRunner, tmp_path: Path, mark: str, again: tuple[int, ...]
) -> None:
    before = watched()
    for turns in TURNS:
        await aborted(asyncio.ensure_future(run_shell(runner, f"sleep {mark}", tmp_path)), turns, *again)
        assert (watched(), await run_shell(runner, "echo on", tmp_path)) == (before, ToolOutcome("on\n"))
    await until(lambda: alive(mark) == [])


async def test_the_end_of_a_call_may_be_aborted_at_any_turn_of_the_loop(
    runner: CommandRunner, tmp_path: Path, mark: str
) -> None:
    before = watched()
    for turns in TURNS:
        running = asyncio.ensure_future(run_shell(runner, f"sleep {mark} & wait", tmp_path))
        await until(lambda: alive(mark) != [])
        await aborted(running, 0, turns, 1, 1, turns)
        assert (running.cancelled(), watched(), await run_shell(runner, "echo on", tmp_path)) == (
            True,
            before,
            ToolOutcome("on\n"),
        )
    await until(lambda: alive(mark) == [])


async def test_many_calls_aborted_twice_let_programs_after_them_run(
    runner: CommandRunner, tmp_path: Path, mark: str
) -> None:
    before = watched()
    running = [asyncio.ensure_future(run_shell(runner, f"sleep {mark}", tmp_path)) for _ in range(8)]
    await until(lambda: len(alive(mark)) == 8)
    await asyncio.gather(*(aborted(each, count, 1, count) for count, each in enumerate(running)))
    outcomes = await asyncio.gather(*(run_shell(runner, "echo on", tmp_path) for _ in range(8)))
    assert (watched(), outcomes, [each.cancelled() for each in running]) == (
        before,
        [ToolOutcome("on\n")] * 8,
        [True] * 8,
    )


def test_a_loop_that_ends_in_the_middle_of_a_call_leaves_nothing_of_it(mark: str) -> None:
    program = f"""
import asyncio, pathlib
from abey.runtime.clock import SystemClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from support.processes import alive, run_shell, until

async def main():
    runner = CommandRunner(ProcessHelper(), SystemClock(), {{}})
    call = asyncio.ensure_future(run_shell(runner, "sleep {mark} & wait", pathlib.Path("/")))
    await until(lambda: alive("{mark}") != [])
    return call

print(asyncio.run(main()).cancelled(), alive("{mark}"))
"""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("True []\n", "")
