"""The wheel and the source distribution: what is in them, what they say of themselves, and that they work."""

import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

from abey.shared.version import VERSION

from .conftest import ROOT, Built, build

pytestmark = pytest.mark.slow

ROOMS = {"abey": ROOT / "server/abey", "abey_cli": ROOT / "cli/abey_cli"}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def members(sdist: Path) -> dict[str, bytes]:
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None}


def is_source(path: Path) -> bool:
    return path.is_file() and path.suffix not in (".pyc", ".pyo")


def test_the_wheel_has_every_file_of_the_packages_a_manual_page_and_no_more(built: Built) -> None:
    found = set(contents(built.wheel))
    about, data = f"abey-{VERSION}.dist-info", f"abey-{VERSION}.data/data"
    files = {
        f"{name}/{path.relative_to(room)}"
        for name, room in ROOMS.items()
        for path in room.rglob("*")
        if is_source(path)
    }
    described = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    assert found == files | described | {f"{data}/share/man/man1/abey.1"}


def test_it_says_what_it_is_and_nothing_that_is_not_so(built: Built) -> None:
    metadata = Parser().parsestr(contents(built.wheel)[f"abey-{VERSION}.dist-info/METADATA"].decode())
    single = ("Name", "Version", "License-Expression", "License-File", "Requires-Python", "Description-Content-Type")
    assert [metadata[name] for name in single] == [
        "abey",
        VERSION,
        "Apache-2.0",
        "LICENSE",
        "<3.16,>=3.11",
        "text/markdown",
    ]
    assert metadata.get_all("Provides-Extra") == ["dev", "keyring", "mcp", "otel"]
    assert metadata.get_all("Project-URL") is None
    assert "Typing :: Typed" in (metadata.get_all("Classifier") or ())
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_source_has_what_is_built_and_what_is_read_and_no_tests(built: Built) -> None:
    found = set(members(built.sdist))
    tops = {name.partition("/")[0] for name in found}
    pages = {path.name for path in ROOT.glob("*.md")}
    assert tops == {
        "PKG-INFO",
        "LICENSE",
        "pyproject.toml",
        "requirements.lock",
        "server",
        "cli",
        "docs",
        ".gitignore",
        *pages,
    }
    docs = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*") if is_source(path)}
    assert {name for name in found if name.startswith("docs/")} == docs


def test_the_source_builds_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    again = build(source, tmp_path / "dist")
    assert contents(again.wheel) == contents(built.wheel)
    assert again.wheel.read_bytes() == built.wheel.read_bytes()


def test_nothing_names_a_place_of_this_machine(built: Built) -> None:
    here = {os.fsencode(ROOT), os.fsencode(Path.home() / ".")}
    everything = {**contents(built.wheel), **members(built.sdist)}
    assert [name for name, data in everything.items() if any(place in data for place in here if len(place) > 5)] == []


@pytest.fixture
def near() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_what_is_installed_plays_the_demo_in_an_empty_home(programs: Path, near: Path) -> None:
    env = {"HOME": str(near / "home"), "PATH": "/usr/bin:/bin", "TMPDIR": str(near / "tmp"), "LANG": "C.UTF-8"}
    for folder in (env["HOME"], env["TMPDIR"]):
        Path(folder).mkdir()
    version = subprocess.run([programs / "abey", "--version"], env=env, capture_output=True, text=True, check=True)
    assert (version.stdout, version.stderr) == (f"abey {VERSION}\n", "")
    played = subprocess.run(
        [programs / "abey", "demo", "--yes"], env=env, cwd=env["HOME"], capture_output=True, text=True, check=False
    )
    assert (played.returncode, "State: LlmTurn (completed)" in played.stdout) == (0, True), played.stderr
    assert [*Path(env["HOME"]).rglob("*"), *Path(env["TMPDIR"]).rglob("*")] == []
    where = subprocess.run(
        [
            programs / "python",
            "-P",
            "-c",
            "import abey.daemon, abey_cli; print(abey.daemon.__file__, abey_cli.__file__)",
        ],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(Path(file).is_relative_to(programs.parent) for file in where.stdout.split())


def test_both_programs_and_the_manual_page_are_there(built: Built, programs: Path) -> None:
    ours = {path.name for path in programs.iterdir() if "abey" in path.name}
    assert ours == {"abey", "abey-daemon"}
    page = contents(built.wheel)[f"abey-{VERSION}.data/data/share/man/man1/abey.1"]
    assert (programs.parent / "share/man/man1/abey.1").read_bytes() == page
    assert page.decode().splitlines()[1] == f'.TH ABEY 1 "" "abey {VERSION}" "User Commands"'
