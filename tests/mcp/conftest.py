"""What the tests with real MCP servers stand on: a machine with a daemon, and where the servers are."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery
from support.e2e_peer import Peer

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.mcp)


@pytest.fixture(scope="session")
def server() -> Callable[[str], str]:
    """The program that a variable names. Where it is not set the test is skipped, but fails under CI."""

    def found(variable: str) -> str:
        file = os.environ.get(variable)
        if file:
            assert os.access(file, os.X_OK), f"{variable} names {file}, which is no program"
            return file
        why = f"{variable} does not name an MCP server (see README.md)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)

    return found


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def place(tmp_path: Path, nursery: Nursery) -> Iterator[Place]:
    """A machine on which a daemon runs already, and whose PATH has Node.js."""
    with closing(Place(tmp_path / "machine", PATH=os.environ["PATH"])) as place:
        nursery.wake(place).close()
        yield place


@pytest.fixture
def peer(place: Place) -> Iterator[Peer]:
    with place.peer() as peer:
        yield peer
