"""A test of the tests: each way to break the store turns a harness red."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import pytest
from support.figures import Figures
from support.harness.running import HARNESSES

pytestmark = pytest.mark.figures

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
STORE = "abey/runtime/store"


@dataclass(frozen=True, slots=True)
class Mutant:
    """`before` becomes `after` in a file of the store; `harness` is the one that sees it soonest."""

    file: str
    before: str
    after: str
    harness: str


SYNC = "            self._io.sync(descriptor)\n        except OSError as error:\n            self._failure = error\n"
"""The sync of a write in journal.py, and what a failure of it leads to."""

WRITE = "            self._write(descriptor, memoryview(data))\n"

MUTANTS = {
    "no sync": Mutant("journal.py", SYNC, SYNC.partition("\n")[2], "power"),
    "no CRC": Mutant("codec.py", 'if line[:9] != b"%08x " % crc:', "if not line:", "flips"),
    "a failed sync is tried again": Mutant(
        "journal.py",
        SYNC,
        "            try:\n                self._io.sync(descriptor)\n            except OSError:\n"
        "                self._io.sync(descriptor)\n" + SYNC.partition("\n")[2],
        "power",
    ),
    "acknowledged before it is written": Mutant(
        "journal.py",
        WRITE,
        "            late, self._late = getattr(self, '_late', b''), data\n"
        "            self._write(descriptor, memoryview(late))\n",
        "kills",
    ),
    "no cut when it is opened": Mutant("recovery.py", "            _cut(io, path, offset)\n", "", "truncations"),
    "no cut after a failed write": Mutant(
        "journal.py", "            self._io.truncate(self._descriptor, self.size)\n", "            pass\n", "faults"
    ),
    "a blob is not synced": Mutant(
        "io.py",
        "            self.write_whole(descriptor, data)\n            self.sync(descriptor)\n",
        "            self.write_whole(descriptor, data)\n",
        "power",
    ),
    "a blob after its record": Mutant(
        "journal.py",
        "            self.blobs.keep(blobs)\n",
        "            self.blobs.keep(getattr(self, '_later', {}))\n            self._later = blobs\n",
        "power",
    ),
    "a snapshot is believed": Mutant("snapshots.py", "    if hashlib.sha256(", "    if 0 and hashlib.sha256(", "flips"),
    "a garbled snapshot is believed": Mutant("snapshot_text.py", "    _check(text)\n    lines", "    lines", "beside"),
    "a journal that is too short is whole": Mutant(
        "recovery.py", "newest_beyond(io, directory, found.end.revision)", "None", "truncations"
    ),
}


@contextmanager
def tree(folder: Path, mutant: Mutant | None) -> Iterator[Path]:
    """A copy of the server that the mutant has bitten."""
    copytree(SERVER, folder, ignore=lambda _, names: [name for name in names if name == "__pycache__"])
    if mutant is not None:
        path = folder / STORE / mutant.file
        text = path.read_text()
        assert text.count(mutant.before) == 1, f"the store has changed: {mutant}"
        path.write_text(text.replace(mutant.before, mutant.after))
    yield folder


def is_red(server: Path, harness: str, seed: int) -> bool:
    """Whether that harness finds a promise broken by that server."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(server), str(ROOT / "tests")])}
    command = [sys.executable, "-P", "-m", "support.harness.running", harness, str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "Vanished" in done.stderr or "AssertionError" in done.stderr, done.stderr
    return done.returncode != 0


def test_every_mutant_is_caught(tmp_path: Path, figures: Figures) -> None:
    def caught(name: str) -> bool:
        with tree(tmp_path / name, MUTANTS[name]) as server:
            return is_red(server, MUTANTS[name].harness, figures.seed)

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(MUTANTS, pool.map(caught, MUTANTS), strict=True))
    assert found == dict.fromkeys(MUTANTS, True)
    figures.note("mutants of the store that are caught", "all", f"{len(MUTANTS)} mutants")


def test_what_each_harness_catches(tmp_path: Path, figures: Figures) -> None:
    """Large only: every harness on every mutant, and on the store as it is."""
    if not figures.large:
        pytest.skip("with --large")
    red = {}
    for name, mutant in {"none": None, **MUTANTS}.items():
        with tree(tmp_path / name, mutant) as server:
            red[name] = [harness for harness in HARNESSES if is_red(server, harness, figures.seed)]
    assert red.pop("none") == []
    for name, harnesses in red.items():
        figures.note(f"mutant: {name}", ", ".join(harnesses), f"{len(HARNESSES)} harnesses")
    assert all(red.values())
