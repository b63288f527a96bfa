"""What a program in a sandbox can do to processes: start its own, and reach no other."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from support.processes import alive, until
from support.sandboxes import KINDS, PYTHON, Cell, cell

from abey.core.conversation import ToolOutcome
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.sandbox.sandbox import Bounds

CANARY = "canary-of-another-process"
SYSCALL = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.parametrize("child", ["sleep MARK &", "setsid sleep MARK &", "(setsid sh -c '(setsid sleep MARK &)' &)"])
async def test_nothing_survives_its_call(inside: Cell, mark: str, child: str) -> None:
    outcome = await inside.sh(f"{child.replace('MARK', mark)}\necho gone")
    assert (outcome, alive(mark)) == (ToolOutcome("gone\n"), [])


async def test_nothing_survives_its_time(inside: Cell, mark: str) -> None:
    running = asyncio.ensure_future(inside.sh(f"setsid sleep {mark} & sleep {mark}"))
    await until(lambda: len(alive(mark)) == 2 and inside.clock.slept != [])
    inside.clock.advance(120)
    assert (await running, alive(mark)) == (ToolOutcome("[timed out after 120 seconds]", "tool/timeout"), [])


async def test_nothing_survives_a_cancel(inside: Cell, mark: str) -> None:
    running = asyncio.ensure_future(inside.sh(f"setsid sleep {mark} & sleep {mark}"))
    await until(lambda: len(alive(mark)) == 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert alive(mark) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fork_bomb_is_ended_and_the_machine_lives(
    helper: ProcessHelper, tmp_path: Path, mark: str, kind: str
) -> None:
    inside = cell(kind, helper, tmp_path, Bounds(processes=40))
    bomb = f"import os, time\nfor _ in range(9): os.fork()\ntime.sleep({mark.partition('.')[0]})"
    outcome = await inside.run(PYTHON, "-I", "-S", "-c", bomb, mark)
    assert (outcome.error, "[ended: it had more than 40 processes]" in outcome.content) == ("tool/failed", True)
    assert alive(mark) == []
    assert await inside.sh("echo on") == ToolOutcome("on\n")


async def test_nobody_runs_in_real_time_or_before_others_in_a_sandbox(inside: Cell, mark: str) -> None:
    """A guard that counts many processes would else be all that runs."""
    running = asyncio.ensure_future(inside.sh(f"nice; sleep {mark}"))
    while not (found := alive(mark)):  # noqa: ASYNC110 - another process starts it
        await asyncio.sleep(0.01)
    kinds = {os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK for pid in found}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (kinds, await inside.sh("nice")) == ({os.SCHED_OTHER}, ToolOutcome("0\n"))


@pytest.mark.parametrize("kind", KINDS)
async def test_memory_and_open_files_are_bounded(helper: ProcessHelper, tmp_path: Path, kind: str) -> None:
    inside = cell(kind, helper, tmp_path, Bounds(memory_bytes=200 << 20, open_files=64))
    outcome = await inside.python("import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE)); b = bytearray(300 << 20)")
    assert (outcome.error, "(64, 64)" in outcome.content, "MemoryError" in outcome.content) == (
        "tool/failed",
        True,
        True,
    )


async def test_another_process_is_not_looked_at(inside: Cell, neighbour: "subprocess.Popen[bytes]") -> None:
    names = ("environ", "maps", "root/etc/passwd", "cwd/x", "fd/1", "mem")
    reading = "; ".join(f"cat /proc/{neighbour.pid}/{name}" for name in names)
    outcome = await inside.sh(f"{reading}; cat /proc/{os.getpid()}/environ; cat /proc/1/environ")
    assert (CANARY in outcome.content, "root:" in outcome.content) == (False, False)


async def test_another_process_is_not_ended(inside: Cell, neighbour: "subprocess.Popen[bytes]") -> None:
    outcome = await inside.sh(f"kill -9 {neighbour.pid} || kill -STOP {neighbour.pid}")
    assert (outcome.error, neighbour.poll(), state_of(neighbour.pid)) == ("tool/failed", None, "S")


async def test_who_watches_the_program_is_not_stopped(inside: Cell) -> None:
    outcome = await inside.sh("kill -STOP $PPID; kill -9 $PPID; echo on")
    assert (outcome.error, outcome.content.splitlines()[-1]) == (None, "on")


async def test_the_kernel_is_not_asked_for_more(inside: Cell, neighbour: "subprocess.Popen[bytes]") -> None:
    asked = ("ptrace(16, PID, 0, 0)", "process_vm_readv(PID, 0, 0, 0, 0, 0)", "unshare(0x10000000)", "setns(0, 0)")
    done = "".join(f"print(libc.{one.replace('PID', str(neighbour.pid))}, ctypes.get_errno())\n" for one in asked)
    assert await inside.python(SYSCALL + done) == ToolOutcome("-1 1\n" * len(asked))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
async def test_what_no_tool_needs_is_refused(inside: Cell) -> None:
    """io_uring_setup, bpf, userfaultfd, keyctl, mount, perf_event_open."""
    numbers = (425, 321, 323, 250, 165, 298)
    done = "".join(f"print(libc.syscall({one}, 0, 0, 0, 0, 0), ctypes.get_errno())\n" for one in numbers)
    assert await inside.python(SYSCALL + done) == ToolOutcome("-1 1\n" * len(numbers))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x32 is a table of x86_64")
async def test_the_other_table_of_calls_is_no_way_around(inside: Cell) -> None:
    outcome = await inside.python(SYSCALL + "libc.syscall(0x40000000 | 39)\nprint('on')")
    assert (outcome.error, "on" in outcome.content) == ("tool/failed", False)


async def test_nobody_gets_more_rights(inside: Cell) -> None:
    fields = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    outcome = await inside.python("print(open('/proc/self/status').read())")
    told = dict(line.split(":", 1) for line in outcome.content.splitlines() if line)
    assert {name: int(told[name], 16) for name in fields} == dict.fromkeys(fields, 0) | {"NoNewPrivs": 1, "Seccomp": 2}


async def test_no_mount_and_no_namespace(inside: Cell) -> None:
    outcome = await inside.sh("mount -t tmpfs none /mnt; unshare -Ur true && echo out; umount /proc && echo out")
    assert "out" not in outcome.content.splitlines()


async def test_no_descriptor_is_passed_on(inside: Cell, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        probe = "import os\nfor n in range(3, 512):\n try: os.fstat(n); print(n)\n except OSError: pass"
        assert await inside.python(probe) == ToolOutcome("")


async def test_the_environment_is_that_of_any_tool(inside: Cell) -> None:
    outcome = await inside.run("env", LANG="C", SECRET="canary")
    names = {line.partition("=")[0] for line in outcome.content.splitlines()}
    assert names - {"TMPDIR", "PWD", "SHLVL", "_"} == {"PATH", "HOME", "LANG"}


async def test_output_and_exit_codes_are_those_of_the_program(inside: Cell) -> None:
    outcomes = [await inside.sh("echo out; echo err >&2"), await inside.sh("echo bad; exit 7")]
    assert outcomes == [ToolOutcome("out\nerr\n"), ToolOutcome("bad\n[exit code 7]", "tool/failed")]
    killed = await inside.sh("kill -9 $$")
    assert killed.content in ("[killed by SIGKILL]", "[exit code 137]")


async def test_a_program_that_is_not_there_is_named(inside: Cell) -> None:
    outcome = await inside.run("no-such-program")
    assert (outcome.error, "no-such-program: No such file or directory" in outcome.content) == ("tool/failed", True)


async def test_a_large_output_is_kept_as_outside(inside: Cell) -> None:
    outcome = await inside.sh("head -c 3000000 /dev/zero | tr '\\0' x")
    assert (outcome.error, outcome.whole is not None and outcome.whole.bytes) == (None, 3_000_000)
