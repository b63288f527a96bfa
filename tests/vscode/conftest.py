"""What the tests of the VS Code extension stand on: a copy of it."""

import shutil
from pathlib import Path

import pytest
from support.vscode_extension import CLIENT, Extension, demand

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.vscode)


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Extension:
    """It is built when a test first asks for that, in the turn of the test."""
    for program in ("node", "npm"):
        demand(shutil.which(program), f"{program} is missing: install Node.js 20.15 or newer (see README.md)")
    installed = (CLIENT / "node_modules").is_dir()
    demand(installed, "clients/vscode/node_modules is missing: npm ci --ignore-scripts there (see README.md)")
    return Extension(tmp_path_factory.mktemp("extension"))
