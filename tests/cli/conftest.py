"""The command line in this process, in an empty folder, with a daemon of canned answers."""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.canned_daemon import CannedDaemon, listening

from abey_cli.main import main

Abey = Callable[..., "Ran"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class TypedIn(io.TextIOWrapper):
    """A stdin with something in it; `terminal` says whether a person types it."""

    def __init__(self, text: str, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(text.encode()))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run; state, config and runtime folders are its siblings."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("state", "config", "runtime"):
        monkeypatch.setenv(f"ABEY_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.setenv("ABEY_TRANSPORT", "socket")
    monkeypatch.setenv("NO_COLOR", "1")
    return folder


@pytest.fixture
def daemon(work: Path) -> Iterator[CannedDaemon]:
    fake = CannedDaemon()
    with listening(fake, Path(os.environ["ABEY_STATE_DIR"])):
        yield fake


@pytest.fixture
def abey(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Abey:
    """Runs one command line; `typed` is its stdin, by default empty and no terminal; `ci` is $CI."""

    def run(*argv: str, typed: str = "", terminal: bool = False, ci: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", TypedIn(typed, terminal))
        monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
        monkeypatch.setenv("CI", ci)
        capsys.readouterr()
        code = main(argv)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
