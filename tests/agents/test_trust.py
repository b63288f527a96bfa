"""Trust: by real path, below it too, durable; a damaged file trusts nothing and loses nothing."""

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.errors import InvalidArguments, PermissionDenied, RecordFailed
from abey.protocol.trust import TrustedFolder
from abey.runtime.agents.trust import Trust
from abey.runtime.store.io import FileIO

AT = "2026-01-02T03:04:05.678Z"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return made(tmp_path / "home")


@pytest.fixture
def work(home: Path) -> Path:
    return made(home / "work")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trust.json"


@pytest.fixture
def trust(file: Path, home: Path) -> Trust:
    return Trust(file, FileIO("process"), home)


def made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_a_trusted_folder_covers_what_is_below_it_and_nothing_else(trust: Trust, work: Path) -> None:
    trust.add(work, AT)
    near = (work, work / "a" / "b", work.parent, work.with_name("work2"), Path("/"))
    assert [trust.covers(folder) for folder in near] == [True, True, False, False, False]
    assert trust.items() == (TrustedFolder(dir=str(work), at=AT, state="ok"),)


def test_trust_outlives_the_daemon_and_is_for_its_owner_alone(trust: Trust, file: Path, work: Path) -> None:
    before = os.umask(0)
    trust.add(work, AT)
    os.umask(before)
    entry = {"dir": str(work), "inode": work.stat().st_ino, "at": AT}
    assert json.loads(file.read_text()) == {"version": 1, "folders": [entry]}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Trust(file, FileIO("process")).covers(work)


def test_the_file_is_durable_before_the_choice_counts(file: Path, work: Path) -> None:
    class Watched(FileIO):
        def __init__(self) -> None:
            super().__init__()
            self.done: list[str] = []

        def sync(self, descriptor: int) -> None:
            self.done.append("sync")
            super().sync(descriptor)

        def rename(self, source: Path, target: Path) -> None:
            self.done.append("rename")
            super().rename(source, target)

        def sync_directory(self, path: Path) -> None:
            self.done.append(f"sync {path.name}")
            super().sync_directory(path)

    file.parent.mkdir()
    io = Watched()
    Trust(file, io).add(work, AT)
    assert io.done == ["sync", "rename", "sync state"]


@pytest.mark.parametrize("spell", ["{work}/", "{work}/../work", "{work}/.", "{home}/link", "{home}/link/../work"])
def test_however_a_folder_is_spelled_it_is_the_real_one(trust: Trust, home: Path, work: Path, spell: str) -> None:
    (home / "link").symlink_to(work)
    trust.add(Path(spell.format(home=home, work=work)), AT)
    assert [one.dir for one in trust.items()] == [str(work)]
    trust.remove(Path(spell.format(home=home, work=work)))
    assert (trust.items(), trust.covers(work)) == ((), False)


def test_a_folder_that_is_put_in_the_place_of_a_trusted_one_is_not_trusted(trust: Trust, work: Path) -> None:
    trust.add(work, AT)
    work.rename(work.with_name("moved"))
    assert (trust.covers(work), [one.state for one in trust.items()]) == (False, ["gone"])
    made(work)
    assert (trust.covers(work), trust.covers(work.with_name("moved"))) == (False, False)
    assert [one.state for one in trust.items()] == ["replaced"]
    trust.add(work, AT)
    assert (trust.covers(work), [one.state for one in trust.items()]) == (True, ["ok"])


def test_a_link_in_the_place_of_a_trusted_folder_or_of_one_around_it_trusts_nothing(trust: Trust, home: Path) -> None:
    inner, evil = made(home / "outer" / "inner"), made(home / "evil" / "inner")
    trust.add(inner, AT)
    (home / "outer").rename(home / "old")
    (home / "outer").symlink_to(home / "evil")
    assert (trust.covers(evil), trust.covers(inner), [one.state for one in trust.items()]) == (
        False,
        False,
        ["replaced"],
    )


def test_a_folder_that_is_gone_can_be_removed(trust: Trust, work: Path) -> None:
    trust.add(work, AT)
    shutil.rmtree(work)
    trust.remove(work)
    assert trust.items() == ()


def test_a_choice_counts_at_once_for_another_reader_of_the_file(trust: Trust, file: Path, work: Path) -> None:
    other = Trust(file, FileIO("process"))
    seen = [other.covers(work)]
    trust.add(work, AT)
    seen.append(other.covers(work))
    trust.remove(work)
    seen.append(other.covers(work))
    assert seen == [False, True, False]


def test_of_choices_at_the_same_time_none_is_lost(file: Path, home: Path, work: Path) -> None:
    class Slow(FileIO):
        def __init__(self) -> None:
            super().__init__("process")
            self.writers = 0
            self.another = threading.Event()

        def replace_file(self, path: Path, data: bytes) -> None:
            self.writers += 1
            if self.writers > 1:
                self.another.set()
            self.another.wait(0.1)
            super().replace_file(path, data)

    trust, folders = Trust(file, Slow(), home), [work, made(home / "more"), made(home / "yet more")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda folder: trust.add(folder, AT), folders))
    assert [one.dir for one in trust.items()] == sorted(map(str, folders))


@pytest.mark.parametrize("folder", ["/", "/tmp", "/var", "/dev", "{home}", "{home}/..", "{home}/link"])
def test_no_folder_is_trusted_that_holds_everything(trust: Trust, home: Path, folder: str) -> None:
    (home / "link").symlink_to(home)
    with pytest.raises(PermissionDenied, match=r"holds much else than one workspace; trust the workspace itself$"):
        trust.add(Path(folder.format(home=home)), AT)
    assert trust.items() == ()


def test_what_is_no_folder_cannot_be_trusted(trust: Trust, work: Path) -> None:
    (work / "file").write_text("")
    for path in (work / "file", work / "none", work / "file" / "below"):
        with pytest.raises(InvalidArguments, match=r"is not a folder$"):
            trust.add(path, AT)
    strange = made(Path(os.fsdecode(os.fsencode(work) + b"/\xff")))
    with pytest.raises(InvalidArguments, match="cannot be looked at"):
        trust.add(strange, AT)


TREE = [Path(*parts) for depth in range(4) for parts in product("ab", repeat=depth)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(TREE)), max_size=8))
def test_what_is_covered_is_what_was_added_and_not_removed_with_all_below_it(
    tmp_path_factory: pytest.TempPathFactory, choices: list[tuple[bool, Path]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for folder in TREE:
        (root / folder).mkdir(parents=True, exist_ok=True)
    trust, expected = Trust(root / "trust.json", FileIO("process")), set()
    for adds, folder in choices:
        if adds:
            trust.add(root / folder, AT)
            expected.add(folder)
        else:
            trust.remove(root / folder)
            expected.discard(folder)
    covered = {folder for folder in TREE if trust.covers(root / folder)}
    assert covered == {folder for folder in TREE if expected & {folder, *folder.parents}}
    assert [one.dir for one in trust.items()] == sorted(str(root / folder) for folder in expected)


def damage_cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def damage_shape(file: Path) -> None:
    file.write_text('{"version": 1, "folders": [{"dir": "/"}]}')


def damage_version(file: Path) -> None:
    file.write_text(file.read_text().replace('"version": 1', '"version": 2'))


def damage_bytes(file: Path) -> None:
    file.write_bytes(b"\xff\0")


def damage_kind(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("damage", [damage_cut, damage_shape, damage_version, damage_bytes, damage_kind])
def test_a_damaged_file_trusts_nothing_says_so_and_is_kept(
    trust: Trust, file: Path, work: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    trust.add(work, AT)
    damage(file)
    before = None if damage is damage_kind else file.read_bytes()
    fault = trust.fault
    assert fault is not None and fault.startswith(str(file))
    assert (trust.covers(work), trust.items()) == (False, ())
    assert [record.message for record in caplog.records] == [f"nothing is trusted: {fault}"]
    trust.add(work, AT)
    kept = file.with_name("trust.json.damaged-1")
    assert (trust.fault, trust.covers(work)) == (None, True)
    assert before is None or kept.read_bytes() == before
    damage(file)
    trust.add(work, AT)
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "trust.json",
        "trust.json.damaged-1",
        "trust.json.damaged-2",
    ]


def test_a_choice_that_cannot_be_written_is_none(file: Path, work: Path) -> None:
    class Full(FileIO):
        def write(self, descriptor: int, data: memoryview) -> int:
            raise OSError(28, "No space left on device")

    trust = Trust(file, Full("process"))
    with pytest.raises(RecordFailed, match=r"cannot be written: No space left on device$"):
        trust.add(work, AT)
    assert (trust.covers(work), list(file.parent.iterdir())) == (False, [])
