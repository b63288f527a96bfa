"""A sandbox of each kind, and a process outside that it must not reach."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandboxes import KINDS, Cell, cell

from abey.runtime.tools.helper import ProcessHelper

CANARY = "canary-of-another-process"


@pytest.fixture(params=KINDS)
def inside(request: pytest.FixtureRequest, helper: ProcessHelper, tmp_path: Path) -> Cell:
    return cell(request.param, helper, tmp_path)


@pytest.fixture
def bubblewrap(helper: ProcessHelper, tmp_path: Path) -> Cell:
    return cell("bubblewrap", helper, tmp_path)


@pytest.fixture
def landlock(helper: ProcessHelper, tmp_path: Path) -> Cell:
    return cell("landlock", helper, tmp_path)


@pytest.fixture
def neighbour() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of the same user, with a secret in its environment."""
    process = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "KEY": CANARY})
    yield process
    process.kill()
    process.wait()
