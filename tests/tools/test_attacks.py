"""Programs that stop or kill who watches them: nothing of them is left, and whoever else runs goes on."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from support.processes import alive, run_shell, until

from abey.core.conversation import ToolOutcome
from abey.runtime.clock import ManualClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the helper needs subreapers, which only Linux has")

HELPER = "$(cut -d' ' -f4 /proc/$PPID/stat)"
"""The parent of the supervisor, in a shell."""
ATTACKS = {
    "stops the supervisor": "kill -STOP $PPID",
    "stops the supervisor again and again": "(while :; do kill -STOP $PPID; done) &",
    "kills the supervisor": "kill -9 $PPID",
    "stops the helper": "kill -STOP $helper",
    "kills the helper": "kill -9 $helper",
    "stops both": "kill -STOP $helper $PPID",
    "kills both": "kill -9 $helper $PPID",
    "stops the helper, kills the supervisor": "kill -STOP $helper; kill -9 $PPID",
    "kills the helper, stops the supervisor": "kill -9 $helper; kill -STOP $PPID",
}


def attacking(attack: str, mark: str) -> str:
    """Leaves a child in a session of its own, attacks, and stays."""
    return f"helper={HELPER}; setsid sleep {mark} & {ATTACKS[attack]}\ntouch attacked; sleep {mark}"


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("end", ["time-out", "cancel"])
async def test_nothing_is_left_of_a_program_that_attacks_who_watches_it(
    helper: ProcessHelper, tmp_path: Path, mark: str, attack: str, end: str
) -> None:
    clock = ManualClock()
    runner = CommandRunner(helper, clock, {})
    running = asyncio.ensure_future(run_shell(runner, attacking(attack, mark), tmp_path))
    await until(lambda: running.done() or ((tmp_path / "attacked").exists() and clock.slept != []))
    clock.advance(120) if end == "time-out" else running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (alive(mark), await run_shell(runner, "echo on", tmp_path)) == ([], ToolOutcome("on\n"))


@pytest.mark.parametrize("attack", ATTACKS)
async def test_nothing_is_left_of_an_attack_when_the_helper_is_closed(tmp_path: Path, mark: str, attack: str) -> None:
    helper = ProcessHelper()
    running = asyncio.ensure_future(
        run_shell(CommandRunner(helper, ManualClock(), {}), attacking(attack, mark), tmp_path)
    )
    await until(lambda: running.done() or (tmp_path / "attacked").exists())
    await helper.close()
    outcome = await running
    assert (outcome.error, alive(mark)) == ("tool/failed", [])


async def test_a_supervisor_that_was_stopped_goes_on(helper: ProcessHelper, tmp_path: Path, mark: str) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    outcome = await run_shell(runner, f"setsid sleep {mark} & kill -STOP $PPID; echo gone", tmp_path)
    assert (outcome, alive(mark)) == (ToolOutcome("gone\n"), [])


async def test_a_helper_that_was_stopped_goes_on(helper: ProcessHelper, tmp_path: Path) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    outcomes = [await run_shell(runner, f"kill -STOP {HELPER}; echo on", tmp_path) for _ in range(3)]
    assert outcomes == [ToolOutcome("on\n")] * 3


@pytest.mark.parametrize(
    ("victims", "message"),
    [
        ("$PPID", "its supervisor was killed; all that was left of the program was ended"),
        (
            f"{HELPER} $PPID",
            "its supervisor and the process helper were killed; all that was left of the program was ended",
        ),
    ],
    ids=["supervisor", "supervisor and helper"],
)
async def test_a_program_that_killed_who_watches_it_failed(
    helper: ProcessHelper, tmp_path: Path, mark: str, victims: str, message: str
) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    outcome = await run_shell(runner, f"setsid sleep {mark} & kill -9 {victims}; sleep {mark}", tmp_path)
    assert (outcome, alive(mark)) == (ToolOutcome(message, "tool/failed"), [])


async def test_a_killed_helper_is_replaced_and_its_programs_end_as_they_would(
    helper: ProcessHelper, tmp_path: Path, mark: str
) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    first = await run_shell(runner, f"setsid sleep {mark} & kill -9 {HELPER}; echo on", tmp_path)
    second = await run_shell(runner, "echo again", tmp_path)
    assert (first, second, alive(mark)) == (ToolOutcome("on\n"), ToolOutcome("again\n"), [])


async def test_the_end_of_an_attack_spares_the_programs_of_other_calls_and_of_other_code(
    helper: ProcessHelper, tmp_path: Path, mark: str
) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    other = asyncio.ensure_future(run_shell(runner, f"sleep {mark} & touch on; wait; echo all", tmp_path))
    ours = await asyncio.create_subprocess_exec("sleep", mark)
    await until(lambda: (tmp_path / "on").exists() and len(alive(mark)) == 2)
    attacked = await run_shell(runner, f"kill -9 {HELPER} $PPID; sleep 60", tmp_path)
    still = len(alive(mark))
    for pid in alive(mark):
        os.kill(pid, signal.SIGTERM)
    assert (attacked.error, still, await other, await ours.wait()) == (
        "tool/failed",
        2,
        ToolOutcome("all\n"),
        -signal.SIGTERM,
    )


async def test_a_helper_that_does_not_answer_fails_the_call_and_is_replaced(tmp_path: Path) -> None:
    deaf = "import os, sys, time; os.write(int(sys.argv[1]), b'ready'); time.sleep(1000)"
    helper = ProcessHelper(("-c", deaf), answer_seconds=0.5)
    runner = CommandRunner(helper, ManualClock(), {})
    outcomes = [await run_shell(runner, "echo on", tmp_path) for _ in range(2)]
    await helper.close()
    assert outcomes == [ToolOutcome("the process helper does not answer", "tool/failed")] * 2


async def test_a_helper_that_does_not_end_is_killed(tmp_path: Path) -> None:
    up = tmp_path / "up"
    stubborn = "import os, sys, time; os.write(int(sys.argv[2]), b'ready'); open(sys.argv[1], 'w'); time.sleep(1000)"
    helper = ProcessHelper(("-c", stubborn, str(up)), answer_seconds=60)
    running = asyncio.ensure_future(run_shell(CommandRunner(helper, ManualClock(), {}), "echo on", tmp_path))
    await until(up.exists)
    await helper.close()
    assert (alive(str(up)), await running) == ([], ToolOutcome("the process helper is closed", "tool/failed"))
