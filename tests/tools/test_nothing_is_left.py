"""The process helper: whatever a program starts, and however it or the daemon ends, nothing of it is left."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from support.processes import alive, call_of, command_tool, run_shell, until

from abey.core.conversation import ToolOutcome
from abey.runtime.clock import ManualClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the helper needs subreapers, which only Linux has")

CHILDREN = {
    "background": "sleep MARK &",
    "orphan": "(sleep MARK &)",
    "nohup": "nohup sleep MARK >/dev/null 2>&1 &",
    "setsid": "setsid sleep MARK &",
    "double fork": "(setsid sh -c '(setsid sleep MARK &)' &)",
    "stubborn": "sh -c 'trap \"\" TERM HUP INT QUIT; sleep MARK; sleep MARK' &",
    "stopped": "sh -c 'kill -STOP $$' MARK &",
    "forking": "(while :; do setsid sleep MARK & sleep 0.01; done) &",
}


def script(kind: str, mark: str) -> str:
    """Starts a child of that kind and goes on until a file `go` is there."""
    return f"{CHILDREN[kind]}\nwhile ! test -e go; do sleep 0.01; done\necho gone".replace("MARK", mark)


@pytest.mark.parametrize("kind", CHILDREN)
async def test_nothing_is_left_after_its_exit(helper: ProcessHelper, tmp_path: Path, mark: str, kind: str) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    running = asyncio.ensure_future(run_shell(runner, script(kind, mark), tmp_path))
    await until(lambda: alive(mark) != [])
    (tmp_path / "go").touch()
    assert (await running, alive(mark)) == (ToolOutcome("gone\n"), [])


@pytest.mark.parametrize("kind", CHILDREN)
async def test_nothing_is_left_after_its_time(helper: ProcessHelper, tmp_path: Path, mark: str, kind: str) -> None:
    clock = ManualClock()
    running = asyncio.ensure_future(run_shell(CommandRunner(helper, clock, {}), script(kind, mark), tmp_path))
    await until(lambda: alive(mark) != [] and clock.slept != [])
    clock.advance(120)
    assert (await running, alive(mark)) == (ToolOutcome("[timed out after 120 seconds]", "tool/timeout"), [])


@pytest.mark.parametrize("kind", CHILDREN)
async def test_nothing_is_left_after_a_cancel(helper: ProcessHelper, tmp_path: Path, mark: str, kind: str) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    running = asyncio.ensure_future(run_shell(runner, script(kind, mark), tmp_path))
    await until(lambda: alive(mark) != [])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert alive(mark) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("kind", CHILDREN)
async def test_nothing_is_left_after_the_end_of_the_daemon(tmp_path: Path, mark: str, kind: str, number: int) -> None:
    program = f"""
import asyncio, pathlib
from abey.runtime.clock import SystemClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from support.processes import run_shell
runner = CommandRunner(ProcessHelper(), SystemClock(), {{}})
asyncio.run(run_shell(runner, {script(kind, mark)!r}, pathlib.Path({str(tmp_path)!r})))
"""
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=environment)
    try:
        await until(lambda: alive(mark) != [])
    finally:
        daemon.send_signal(number)
        await daemon.wait()
    await until(lambda: alive(mark) == [])


async def test_a_call_that_is_cancelled_while_it_starts_leaves_nothing(
    helper: ProcessHelper, tmp_path: Path, mark: str
) -> None:
    runner = CommandRunner(helper, ManualClock(), {})
    tool = command_tool(["sleep", mark])
    for turns in range(12):
        running = asyncio.ensure_future(runner.run(tool, call_of({}, tmp_path)))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert (await run_shell(runner, "echo on", tmp_path), alive(mark)) == (ToolOutcome("on\n"), [])


@pytest.mark.parametrize("program", ["raise SystemExit", "import os, sys; os.close(int(sys.argv[1]))"])
async def test_where_no_helper_can_be_started_programs_run_in_groups(tmp_path: Path, program: str) -> None:
    (tmp_path / "helper.py").write_text(program)
    helper = ProcessHelper((str(tmp_path / "helper.py"),))
    runner = CommandRunner(helper, ManualClock(), {})
    outcomes = [await run_shell(runner, "echo on", tmp_path) for _ in range(2)]
    assert (outcomes, helper.leaves_nothing) == ([ToolOutcome("on\n")] * 2, False)


async def test_the_helper_ends_with_its_owner(tmp_path: Path) -> None:
    helper = ProcessHelper()
    outcome = await run_shell(CommandRunner(helper, ManualClock(), {}), "cut -d' ' -f4 /proc/$PPID/stat", tmp_path)
    await helper.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(outcome.content), 0)


async def test_the_helper_holds_no_secret_that_a_program_could_read(
    helper: ProcessHelper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    runner = CommandRunner(helper, ManualClock(), {})
    seen = "for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do tr '\\0' '\\n' < /proc/$p/environ; done"
    outcome = await run_shell(runner, seen, tmp_path)
    assert ("PATH=" in outcome.content, "canary" in outcome.content) == (True, False)
