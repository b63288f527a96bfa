"""The process helper: whatever a program starts, and however it or the daemon ends, nothing of it is left."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from abey.core.conversation import ToolOutcome
from abey.runtime.clock import ManualClock
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from support.processes import alive, call_of, command_tool, run_shell, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the helper needs subreapers, which only Linux has")

CHILDREN = {
    "background": "sleep MARK &",
    "orphan": "(sleep MARK &)",
    "nohup": "nohup sleep MARK >/dev/null 2>&1 &",
    "setsid": "setsid sleep MARK &",
    "double fork": "(setsid sh -c '(setsid sleep MARK &)' &)",
    "stubborn": "sh -c 'trap \"\" TERM HUP INT QUIT; sleep MARK; sleep MARK' &",
    "stopped": "sleep MARK & kill -STOP $!",
    "forking": "(while :; do setsid sleep MARK & sleep 0.01; done) &",
}
MARKS = itertools.count(98_200)


@pytest.fixture
async def helper() -> AsyncIterator[ProcessHelper]:
    helper = ProcessHelper()
    yield helper
    await helper.close()


@pytest.fixture
def mark() -> Iterator[str]:
    """A number of seconds that no other program sleeps; what a failed test leaves is killed."""
    mark = f"{next(MARKS)}.{os.getpid()}"
    yield mark
    for pid in alive(mark):
        os.kill(pid, signal.SIGKILL)


def script(kind: str, mark: str, end: str) -> str:
    """Starts a child of that kind, waits until it is there, and then does `end`."""
    there = "while ! grep -qs MARK /proc/[0-9]*/cmdline; do :; done"
    return f"{CHILDREN[kind]}\n{end}".replace("MARK", mark) if not there else f"{CHILDREN[kind]}\n{end}".replace("MARK", mark)
