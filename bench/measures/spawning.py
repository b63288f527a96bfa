"""A call of a tool that runs `/bin/true`, from its start to its end, beside a bare spawn of it."""

import asyncio
import os
import time
from pathlib import Path
from statistics import median

from abey.runtime.agents.registry import Registry
from abey.runtime.clock import SystemClock
from abey.runtime.ports import Spool, ToolCall
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from bench import work
from bench.figures import Figures
from bench.sizes import Size

_TRUE = "/bin/true"


def measure(size: Size, folder: Path) -> Figures:
    return asyncio.run(_measure(size, folder))


async def _measure(size: Size, folder: Path) -> Figures:
    helper = ProcessHelper()
    runner = CommandRunner(helper, SystemClock(), os.environ)
    config = work.config() | {"tools": [work.tool("true", [_TRUE])]}
    tool = Registry(folder).inline(config, None).tools["true"]
    call = ToolCall("s", "c", "i", work.ARGUMENTS, str(folder), {"PATH": os.defpath}, _no_spool)
    ours, bare = [], []
    try:
        await runner.run(tool, call)  # the helper starts with the first program
        for _ in range(size.tries * 5):
            began = time.perf_counter()
            process = await asyncio.create_subprocess_exec(_TRUE, stdout=asyncio.subprocess.PIPE)
            await process.communicate()
            between = time.perf_counter()
            outcome = await runner.run(tool, call)
            ours.append(time.perf_counter() - between)
            bare.append(between - began)
            assert outcome.error is None, outcome
    finally:
        await helper.close()
    return {
        "spawn": median(ours) * 1000,
        "spawn.bare": median(bare) * 1000,
        "spawn.extra": (median(ours) - median(bare)) * 1000,
    }


def _no_spool() -> Spool:
    raise AssertionError("it prints nothing")
