"""A process helper, and a mark for the programs of one test."""

import itertools
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from support.processes import alive

from abey.runtime.tools.helper import ProcessHelper

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
