"""What every end-to-end test starts from: a machine of its own, on which nothing is left running."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Place]:
    """A machine on which nothing runs yet: what does is started as a user starts it."""
    with closing(Place(tmp_path / "machine")) as machine:
        yield machine


@pytest.fixture
def place(machine: Place, nursery: Nursery) -> Place:
    """A machine on which a daemon runs already; the next one is started as a user starts it."""
    nursery.wake(machine).close()
    return machine
