"""The files of export and import: whole or not at all, regular, private, and refused with what the system said."""

import errno
import os
import stat
from pathlib import Path

import pytest

from abey.errors import InvalidArguments, RecordFailed
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.transfer.files import IMPORT_BYTES, absolute, read_file, refuse_inside, write_file

IO = FileIO("process")
PIECES = (b"one\n", b"two\n")


def test_a_file_is_its_owners_only_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert write_file(IO, path, PIECES) == 8
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode), os.listdir(tmp_path)) == (
        b"one\ntwo\n",
        0o600,
        ["out"],
    )


def test_a_file_that_is_there_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before")
    write_file(IO, path, PIECES)
    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("write", ["raises", "partial"])
def test_whatever_call_fails_the_old_file_or_the_new_one_is_there_whole(tmp_path: Path, write: str) -> None:
    path = tmp_path / "out"
    counting = FaultyIO()
    write_file(counting, path, PIECES)
    for at in range(len(counting.calls)):
        path.write_text("before")
        with pytest.raises(RecordFailed) as failed:
            write_file(FaultyIO(Fault(at, errno.ENOSPC, write)), path, PIECES)  # type: ignore[arg-type] # one of two
        assert failed.value.message == f"{path} cannot be written: No space left on device (ENOSPC)"
        assert failed.value.details == {"errno": errno.ENOSPC, "errnoName": "ENOSPC"}
        synced_only = counting.calls[at] == "sync_directory"
        assert (path.read_bytes(), os.listdir(tmp_path)) == (b"one\ntwo\n" if synced_only else b"before", ["out"])


def test_what_goes_wrong_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def pieces():  # type: ignore[no-untyped-def] # a generator that fails
        yield b"one"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_file(IO, tmp_path / "out", pieces())
    assert os.listdir(tmp_path) == []


def test_only_a_regular_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name in ("folder", "pipe", "link"):
        with pytest.raises(InvalidArguments) as refused:
            write_file(IO, tmp_path / name, PIECES)
        assert refused.value.message == (
            f"{tmp_path / name} cannot be written: something other than a regular file has this name (EINVAL)"
        )
    assert (tmp_path / "target").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [("no/out", "No such file or directory (ENOENT)"), ("file/out", "Not a directory (ENOTDIR)")],
)
def test_a_path_that_leads_nowhere_is_a_wrong_argument(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArguments) as refused:
        write_file(IO, tmp_path / name, PIECES)
    assert refused.value.message == f"{tmp_path / name} cannot be written: {said}"


def test_a_path_is_absolute() -> None:
    for path in ("out", "./out", "~/out", "", "/a\0b"):
        with pytest.raises(InvalidArguments):
            absolute(path)
    assert absolute("/a/b") == Path("/a/b")


def test_only_a_regular_file_of_a_bearable_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(IMPORT_BYTES + 1)
    for name, said in {
        "none": "cannot be read: No such file or directory (ENOENT)",
        ".": "cannot be read: not a regular file (EINVAL)",
        "pipe": "cannot be read: not a regular file (EINVAL)",
        "huge": f"has {IMPORT_BYTES + 1} bytes; at most {IMPORT_BYTES} are imported",
    }.items():
        with pytest.raises(InvalidArguments) as refused:
            read_file(IO, tmp_path / name)
        assert refused.value.message == f"{tmp_path / name} {said}"


def test_a_file_that_is_linked_to_is_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert read_file(IO, tmp_path / "link") == b"x"


def test_the_place_of_our_own_files_is_refused_whichever_way_it_is_named(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "sessions" / "one").mkdir(parents=True)
    (tmp_path / "link").symlink_to(state / "sessions")
    for inside in (
        state / "daemon.lock",
        state / "sessions" / "one" / "journal.jsonl",
        tmp_path / "link" / "one" / "journal.jsonl",
        tmp_path / "nothing" / ".." / "state" / "x",
        state / "new" / "x",
    ):
        with pytest.raises(InvalidArguments) as refused:
            refuse_inside(state, inside)
        assert refused.value.message == f"{inside} is in {state}, where abey keeps its own files; choose another place"
    refuse_inside(state, tmp_path / "x")
    refuse_inside(state, tmp_path / "state2" / "x")


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    endless = Path("/proc/self/pagemap")
    if not endless.exists():
        pytest.skip("there is no such file here")
    with pytest.raises(OSError, match="larger than 5000000 bytes") as refused:
        IO.read(endless, 5_000_000)
    assert refused.value.errno == errno.EFBIG


def test_a_file_that_has_more_than_its_size_says_is_read_whole() -> None:
    assert b"\n" in IO.read(Path("/proc/self/maps"))  # its size is said to be 0


def test_the_root_is_no_file() -> None:
    with pytest.raises(InvalidArguments, match="something other than a regular file"):
        write_file(IO, Path("/"), [])


def test_a_disk_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(RecordFailed) as failed:
        read_file(FaultyIO(Fault(0, errno.EIO)), tmp_path / "f")
    assert failed.value.message == f"{tmp_path / 'f'} cannot be read: Input/output error (EIO)"
