"""What every end-to-end test starts from: a machine of its own, on which nothing is left running."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path / "machine")) as here:
        yield here
