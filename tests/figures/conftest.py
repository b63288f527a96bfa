"""What the figures stand on: daemons that are there at once."""

from collections.abc import Iterator

import pytest
from support.e2e_crash import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery
