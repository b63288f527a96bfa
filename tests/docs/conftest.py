"""What the examples of the pages run in: a machine of its own, under the names that the pages give to its folders."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place
from support.pages import DOCS


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path / "machine")) as here:
        (here.work / "cities.txt").write_text("Paris\n")
        shutil.copytree(DOCS / "examples", here.work / "docs" / "examples")
        shutil.copy(DOCS / "examples" / "research.json", here.agents)
        yield here


@pytest.fixture
def named(place: Place) -> dict[str, str]:
    """The folders of the pages, and what they are here."""
    return {
        "/home/ada/weather": str(place.work),
        "/home/ada/.config/abey": str(place.root / "config"),
        "~/.config/abey": str(place.root / "config"),
        "/home/ada/.local/state/abey": str(place.state),
        "/run/user/1000/abey": str(place.root / "run"),
    }
