"""A session whose tools are those of servers."""

from pathlib import Path

import pytest
from support.mcp_desk import Desk

from abey.runtime.tools.helper import ProcessHelper


@pytest.fixture
def desk(helper: ProcessHelper, tmp_path: Path) -> Desk:
    return Desk(helper, tmp_path)
