"""What the tests against third-party servers stand on: a machine with a daemon, and each server once."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_crash import Nursery
from support.peers import Server, named, serving

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "peers"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peers)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def place(tmp_path: Path, nursery: Nursery) -> Iterator[Place]:
    """A machine on which a daemon runs already."""
    with closing(Place(tmp_path / "machine")) as place:
        nursery.wake(place).close()
        yield place


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of llama.cpp with a small model: 1024 tokens a conversation."""
    python = named("PEER_XLLAMACPP", "a Python that has xllamacpp")
    model = named("PEER_MODEL", "the GGUF file of a SmolLM2")
    program = [python, str(HERE / "serve_llama.py"), model, str(DATA / "chat.jinja")]
    with serving(program, tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """aimock, with the answers of tests/data/peers/aimock."""
    program = named("PEER_AIMOCK", "the program aimock")
    folder = tmp_path_factory.mktemp("aimock")
    settings = {"host": "127.0.0.1", "port": 0, "llm": {"fixtures": str(DATA / "aimock")}}
    (folder / "settings.json").write_text(json.dumps(settings))
    with serving([program, "--config", "settings.json"], folder) as server:
        yield server


@pytest.fixture(scope="session")
def llmock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = named("PEER_LLMOCK", "the program llmock")
    with serving([program, "serve", "--host", "127.0.0.1", "--port", "0"], tmp_path_factory.mktemp("llmock")) as server:
        yield server


@pytest.fixture
def llmock(llmock_server: Server) -> Server:
    """llmock, which remembers nothing."""
    llmock_server.post("/_llmock/reset", {})
    return llmock_server
