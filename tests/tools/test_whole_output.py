"""The whole output: all that a program printed is in a blob where the model is told less."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes import FakeSpool, run_shell, until

from abey.core.conversation import ToolOutcome
from abey.protocol.journal import BlobRef
from abey.runtime.clock import SystemClock
from abey.runtime.store.io import FileIO
from abey.runtime.store.spool import BlobSpool
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.output import MAX_BYTES

LINES = "seq -w 1 100000"
PRINTED = b"".join(b"%06d\n" % number for number in range(1, 100_001))


@pytest.fixture
async def runner() -> AsyncIterator[CommandRunner]:
    helper = ProcessHelper()
    yield CommandRunner(helper, SystemClock(), {})
    await helper.close()


def blob_of(content: bytes) -> BlobRef:
    return BlobRef(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


async def test_what_the_model_is_told_whole_needs_no_spool(runner: CommandRunner, tmp_path: Path) -> None:
    def none() -> FakeSpool:
        raise AssertionError("a spool was made")

    outcome = await run_shell(runner, "head -c 260000 /dev/zero | tr '\\0' x", tmp_path, none)
    assert outcome == ToolOutcome("x" * 260_000)


@pytest.mark.parametrize(("then", "error"), [("", None), ("; exit 3", "tool/failed")])
async def test_a_long_output_is_kept_to_the_byte(
    runner: CommandRunner, tmp_path: Path, then: str, error: str | None
) -> None:
    spool = FakeSpool()
    outcome = await run_shell(runner, f"{LINES}; printf '\\377'{then}", tmp_path, lambda: spool)
    assert bytes(spool.data) == PRINTED + b"\xff"
    assert (outcome.whole, outcome.error) == (blob_of(PRINTED + b"\xff"), error)
    assert outcome.content.startswith("000001\n") and "bytes left out" in outcome.content
    assert len(outcome.content.encode()) <= MAX_BYTES + len("\n[exit code 3]")
    assert spool.done == ["write", "keep", "drop"]


async def test_an_output_that_is_only_long_as_text_is_kept_as_its_bytes(runner: CommandRunner, tmp_path: Path) -> None:
    spool = FakeSpool()
    outcome = await run_shell(runner, "head -c 100000 /dev/zero | tr '\\0' '\\377'", tmp_path, lambda: spool)
    assert (outcome.whole, "bytes left out" in outcome.content) == (blob_of(b"\xff" * 100_000), True)


async def test_beyond_the_limit_the_first_bytes_are_kept(runner: CommandRunner, tmp_path: Path) -> None:
    spool = FakeSpool(limit=3_000_000)
    outcome = await run_shell(runner, "yes | head -c 9000000", tmp_path, lambda: spool)
    assert (outcome.whole, outcome.error) == (blob_of(b"y\n" * 1_500_000), None)


@pytest.mark.parametrize("fails", ["write", "keep"])
async def test_a_full_disk_costs_the_blob_and_not_the_call(runner: CommandRunner, tmp_path: Path, fails: str) -> None:
    spool = FakeSpool(fails)
    outcome = await run_shell(runner, f"{LINES}; {LINES}; {LINES}", tmp_path, lambda: spool)
    assert (outcome.whole, outcome.error) == (None, None)
    assert outcome.content.endswith("099999\n100000\n[the whole output could not be kept: No space left on device]")
    assert spool.done[-1] == "drop"


class SlowSpool(FakeSpool):
    """A disk that takes nothing until `opens` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.opens = threading.Event()
        self.waits = False

    def write(self, data: bytes) -> bool:
        self.waits = True
        assert self.opens.wait(20)
        return super().write(data)


async def test_a_slow_disk_holds_up_the_program_and_nobody_else(runner: CommandRunner, tmp_path: Path) -> None:
    spool = SlowSpool()
    running = asyncio.ensure_future(run_shell(runner, "yes | head -c 20000000; echo > done", tmp_path, lambda: spool))
    assert await run_shell(runner, "echo else", tmp_path) == ToolOutcome("else\n")
    assert (running.done(), (tmp_path / "done").exists()) == (False, False)
    spool.opens.set()
    assert (await running).whole == blob_of(b"y\n" * 10_000_000)


async def test_nothing_is_left_of_the_output_of_a_call_that_is_cancelled(runner: CommandRunner, tmp_path: Path) -> None:
    blobs = tmp_path / "blobs"
    running = asyncio.ensure_future(
        run_shell(
            runner, "yes | head -c 5000000; sleep 60", tmp_path, lambda: BlobSpool(FileIO("process"), tmp_path, "i1")
        )
    )
    await until(lambda: (blobs / ".i1.part").exists())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (running.cancelled(), list(blobs.iterdir())) == (True, [])


async def test_a_call_that_is_cancelled_while_the_disk_is_slow_waits_for_it_and_leaves_nothing(
    runner: CommandRunner, tmp_path: Path
) -> None:
    spool = SlowSpool()
    running = asyncio.ensure_future(run_shell(runner, "yes | head -c 3000000", tmp_path, lambda: spool))
    await until(lambda: spool.waits)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0)
    spool.opens.set()
    await asyncio.gather(running, return_exceptions=True)
    assert (running.cancelled(), "keep" in spool.done, spool.done[-1]) == (True, False, "drop")
