"""A workspace, and another where some of it is the daemon's own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.workspaces import Work

from abey.runtime.tools.workspace.paths import Own


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work")


@pytest.fixture
def work_beside(tmp_path: Path) -> Callable[[Own], Work]:
    """A workspace where some of it is the daemon's own."""
    return lambda own: Work(tmp_path / "work", own)
