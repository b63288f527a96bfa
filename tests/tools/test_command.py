"""Tools of kind `command`: what the program gets, and what comes of it, with the helper and without."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes import DEADLINE_SECONDS, alive, call_of, command_tool, run_shell, until

from abey.core.conversation import ToolOutcome
from abey.runtime.clock import ManualClock, SystemClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.processes import Launcher
from abey.runtime.tools.programs import Programs


@pytest.fixture(params=["helper", "groups"])
async def launcher(request: pytest.FixtureRequest) -> AsyncIterator[Launcher]:
    if request.param == "groups":
        yield GroupLauncher()
        return
    helper = ProcessHelper()
    yield helper
    await helper.close()


@pytest.fixture
def runner(launcher: Launcher) -> CommandRunner:
    return CommandRunner(launcher, SystemClock(), {"NAMED": "from the daemon", "UNNAMED": "secret"})


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("echo out; echo err >&2", ToolOutcome("out\nerr\n")),
        ("true", ToolOutcome("")),
        ("cat", ToolOutcome("")),
        ("yes | head -1", ToolOutcome("y\n")),
        ("printf 'caf\\303\\251 \\377'", ToolOutcome("café \ufffd\n[1 byte is no UTF-8]")),
        ("echo no; exit 3", ToolOutcome("no\n[exit code 3]", "tool/failed")),
        ("printf no; exit 255", ToolOutcome("no\n[exit code 255]", "tool/failed")),
        ("exit 1", ToolOutcome("[exit code 1]", "tool/failed")),
        ("kill -SEGV $$", ToolOutcome("[killed by SIGSEGV]", "tool/failed")),
        ("kill -36 $$", ToolOutcome("[killed by signal 36]", "tool/failed")),
    ],
)
async def test_how_a_program_ends_is_the_result(
    runner: CommandRunner, tmp_path: Path, script: str, outcome: ToolOutcome
) -> None:
    assert await run_shell(runner, script, tmp_path) == outcome


async def test_a_program_runs_in_the_cwd_which_its_name_may_be_relative_to(
    runner: CommandRunner, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "where"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    assert await runner.run(command_tool(["bin/where"]), call_of({}, tmp_path)) == ToolOutcome(f"{tmp_path}\n")


async def test_arguments_arrive_as_they_are(runner: CommandRunner, tmp_path: Path) -> None:
    value = "$(echo x) `id` \"'\\ \n\t* é😀 {y}"
    tool = command_tool(["printf", "%s|", "{x}", "{y}", "{z}"])
    assert await runner.run(tool, call_of({"x": value, "z": [1]}, tmp_path)) == ToolOutcome(f"{value}|[1]|")


async def test_an_argument_larger_than_a_datagram_arrives_whole(runner: CommandRunner, tmp_path: Path) -> None:
    tool = command_tool(["printf", "%s%s%s", "{x}", "{x}", "{x}"])
    assert await runner.run(tool, call_of({"x": "é" * 30_000}, tmp_path)) == ToolOutcome("é" * 90_000)


async def test_a_program_gets_the_listed_variables_and_those_its_tool_names(
    runner: CommandRunner, tmp_path: Path
) -> None:
    tool = command_tool(["env"], env=["NAMED", "ABSENT"])
    outcome = await runner.run(tool, call_of({}, tmp_path, {"LC_ALL": "C", "SESSION_KEY": "secret"}))
    assert sorted(outcome.content.splitlines()) == [
        "LC_ALL=C",
        "NAMED=from the daemon",
        f"PATH={os.environ['PATH']}",
    ]


async def test_a_program_inherits_no_descriptor(runner: CommandRunner, tmp_path: Path) -> None:
    leaking = os.dup(0)
    os.set_inheritable(leaking, True)
    try:
        outcome = await runner.run(command_tool(["sh", "-c", "ls /proc/$$/fd"]), call_of({}, tmp_path))
    finally:
        os.close(leaking)
    assert outcome == ToolOutcome("0\n1\n2\n")


async def test_a_program_leads_a_session_of_its_own(runner: CommandRunner, tmp_path: Path) -> None:
    outcome = await run_shell(runner, "echo $$; cut -d' ' -f5,6 /proc/$$/stat", tmp_path)
    pid, ids = outcome.content.splitlines()
    assert ids == f"{pid} {pid}"


@pytest.mark.parametrize(
    ("argv", "arguments", "cwd", "content"),
    [
        (["no-such-program"], {}, ".", "cannot start no-such-program: No such file or directory"),
        (["./file"], {}, ".", "cannot start ./file: Permission denied"),
        (["true"], {}, "nowhere", "cannot enter {cwd}: No such file or directory"),
        (["true"], {}, "file", "cannot enter {cwd}: Not a directory"),
        (["true"], {}, "no\0where", "cannot enter {cwd}: embedded null byte"),
        (["echo", "{x}"], {"x": "y" * 200_000}, ".", "cannot start echo: Argument list too long"),
        (
            ["echo", "{x}"],
            {"x": "\0"},
            ".",
            "the argument filled from x holds a NUL character, which no program can be given",
        ),
    ],
    ids=["missing", "no program", "no folder", "a file as folder", "NUL in the folder", "too long", "NUL"],
)
async def test_a_program_that_cannot_start_is_a_failed_call(
    runner: CommandRunner, tmp_path: Path, argv: list[str], arguments: dict[str, str], cwd: str, content: str
) -> None:
    (tmp_path / "file").write_text("text")
    place = tmp_path / cwd
    outcome = await runner.run(command_tool(argv), call_of(arguments, place))
    assert outcome == ToolOutcome(content.format(cwd=place), "tool/failed")


async def test_after_its_time_a_program_is_killed_and_its_output_so_far_kept(
    launcher: Launcher, tmp_path: Path, mark: str
) -> None:
    clock = ManualClock()
    runner = CommandRunner(launcher, clock, {})
    tool = command_tool(["sh", "-c", f"echo begun; touch begun; exec sleep {mark}"], timeoutSeconds=2.5)
    running = asyncio.ensure_future(runner.run(tool, call_of({}, tmp_path)))
    await until(lambda: (tmp_path / "begun").exists() and alive(mark) != [] and clock.slept != [])
    clock.advance(2.5)
    assert await running == ToolOutcome("begun\n[timed out after 2.5 seconds]", "tool/timeout")
    assert alive(mark) == []


async def test_a_cancelled_call_is_gone_when_the_cancel_is_through(
    runner: CommandRunner, tmp_path: Path, mark: str
) -> None:
    running = asyncio.ensure_future(run_shell(runner, f"sleep {mark} & exec sleep {mark}", tmp_path))
    await until(lambda: len(alive(mark)) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: alive(mark) == [])


async def test_a_child_that_holds_the_pipe_keeps_nobody_waiting(
    runner: CommandRunner, tmp_path: Path, mark: str
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await run_shell(runner, f"sleep {mark} & echo back", tmp_path) == ToolOutcome("back\n")
    await until(lambda: alive(mark) == [])


async def test_calls_run_side_by_side(runner: CommandRunner, tmp_path: Path) -> None:
    wait_for_both = "touch {me}; while ! test -e {other}; do :; done; echo {me}"
    pairs = [("a", "b"), ("b", "a")]
    scripts = [wait_for_both.replace("{me}", me).replace("{other}", other) for me, other in pairs]
    outcomes = await asyncio.gather(*(run_shell(runner, script, tmp_path) for script in scripts))
    assert outcomes == [ToolOutcome("a\n"), ToolOutcome("b\n")]


async def test_calls_leave_no_descriptor_and_no_zombie_in_the_daemon(runner: CommandRunner, tmp_path: Path) -> None:
    await run_shell(runner, "true", tmp_path)
    before = open_descriptors(), zombies()
    for script in ("echo x", "exit 3", "sleep 98104 &", "no-such-program", "head -c 300000 /dev/zero"):
        await run_shell(runner, script, tmp_path)
        await runner.run(command_tool(["no-such-program"]), call_of({}, tmp_path))
    await until(lambda: (open_descriptors() - before[0], zombies() - before[1]) == (set(), set()))


@pytest.mark.parametrize("launching", ["ProcessHelper", "GroupLauncher"])
def test_200_megabytes_of_output_pass_in_constant_memory(launching: str, tmp_path: Path) -> None:
    program = f"""
import asyncio, json, pathlib, resource
from abey.runtime.store.io import FileIO
from abey.runtime.store.spool import BlobSpool
from abey.runtime.clock import SystemClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.helper import ProcessHelper
from support.processes import run_shell

async def main():
    runner = CommandRunner({launching}(), SystemClock(), {{}})
    peaks = []
    for size in ("1000000", "200000000"):
        spool = BlobSpool(FileIO("process"), pathlib.Path({str(tmp_path)!r}), size)
        script = f"head -c {{size}} /dev/zero | tr '\\\\0' x"
        outcome = await run_shell(runner, script, pathlib.Path("/"), lambda: spool)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    print(json.dumps([peaks[1] - peaks[0], len(outcome.content), outcome.error, outcome.whole.bytes]))

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], env=python_environment(), capture_output=True, check=True)
    grown_kib, length, error, kept = json.loads(done.stdout)
    assert (grown_kib < 12 * 1024, length <= 256 * 1024, error, kept) == (True, True, None, 64 << 20)


def open_descriptors() -> set[tuple[str, str]]:
    """Their numbers, and what they lead to: what is closed meanwhile, like garbage of other tests, does not count."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
        except OSError:  # the one that listed them
            continue
    return found


def zombies() -> set[str]:
    """The children of this process that nobody has reaped."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended while we looked
            continue
        if fields[:2] == ["Z", str(os.getpid())]:
            found.add(name)
    return found


def python_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


async def test_a_program_beyond_those_that_may_run_waits_for_its_turn(launcher: Launcher, tmp_path: Path) -> None:
    runner = CommandRunner(launcher, SystemClock(), {}, Programs(SystemClock(), 1))
    first = "touch begun; until [ -e go ]; do sleep 0.01; done; touch ended; echo first"
    running = asyncio.create_task(run_shell(runner, first, tmp_path))
    await until((tmp_path / "begun").exists)
    waiting = asyncio.create_task(run_shell(runner, "[ -e ended ] && echo second", tmp_path))
    late = await runner.run(command_tool(["true"], timeoutSeconds=0.05), call_of({}, tmp_path))
    (tmp_path / "go").touch()
    none = ToolOutcome("1 programs of tools are running, and none ended in time", "tool/failed")
    assert (late, await running, await waiting) == (none, ToolOutcome("first\n"), ToolOutcome("second\n"))


async def test_a_call_that_is_cancelled_while_it_waits_for_its_turn_takes_none(
    launcher: Launcher, tmp_path: Path
) -> None:
    runner = CommandRunner(launcher, SystemClock(), {}, Programs(SystemClock(), 1))
    running = asyncio.create_task(run_shell(runner, "touch begun; until [ -e go ]; do sleep 0.01; done", tmp_path))
    await until((tmp_path / "begun").exists)
    waiting = asyncio.create_task(run_shell(runner, "touch ran", tmp_path))
    await asyncio.sleep(0)
    waiting.cancel()
    (tmp_path / "go").touch()
    assert await running == ToolOutcome("")
    assert await run_shell(runner, "ls", tmp_path) == ToolOutcome("begun\ngo\n")
