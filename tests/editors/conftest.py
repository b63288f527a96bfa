"""What the tests with real editors stand on: a machine with the folders that a user has, and an editor on it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery
from support.editors import Editor, Kind, Sit, file_of

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.editors)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """An editor that is not there is no reason to start a daemon: what a test asks for by a param, or a module by
    NEEDS, is looked for first."""
    params = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    for kind in (*params, *getattr(getattr(item, "module", None), "NEEDS", ())):
        if isinstance(kind, Kind) and kind.variable:
            file_of(kind.variable, kind.what)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def quiet_machine(tmp_path: Path) -> Iterator[Place]:
    """A machine on which nothing runs yet; the agents of its user are where they are by default."""
    config = tmp_path / "machine" / "home" / ".config" / "abey"
    with closing(Place(tmp_path / "machine", ABEY_CONFIG_DIR=str(config))) as machine:
        machine.agents = config / "agents"
        machine.agents.mkdir(parents=True)
        yield machine


@pytest.fixture
def machine(quiet_machine: Place, nursery: Nursery) -> Place:
    """The same, on which a daemon runs already; the next one is started as a user starts it."""
    nursery.wake(quiet_machine).close()
    return quiet_machine


@pytest.fixture
def sit(quiet_machine: Place, tmp_path: Path) -> Iterator[Sit]:
    """Starts an editor on the machine: `sit(kind)`; it ends with the test. With `ask` its user wants to be asked."""
    numbers = count(1)

    def start(kind: Kind, ask: bool = False) -> Editor:
        folder = tmp_path / f"{kind.name}-{next(numbers)}"
        folder.mkdir()
        return editors.enter_context(Editor(quiet_machine, kind, folder, ask))

    with ExitStack() as editors:
        yield start
