"""Files that editors read and write while the daemon does: replaced whole, nobody's words lost, no link followed."""

import errno
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.daemon.plain.exchanging import exchange
from abey.daemon.plain.folder import READ_BYTES, Folder, rename_within
from abey.errors import RecordFailed

NAME = "s1.abey.md"


def appended(text: str | None) -> str:
    return f"{text or ''}+"


def saved_first(path: Path, save: Callable[[Path], object], times: int = 1) -> Callable[[str | None], str]:
    """A change during which somebody saves the file."""
    left = [save] * times

    def change(text: str | None) -> str:
        if left:
            left.pop()(path)
        return appended(text)

    return change


def in_place(path: Path) -> None:
    path.write_text("saved")


def by_rename(path: Path) -> None:
    draft = path.with_suffix(".other")
    draft.write_text("saved")
    draft.rename(path)


@pytest.mark.parametrize(
    ("save", "times", "text"),
    [(in_place, 1, "saved+"), (in_place, 3, "saved+"), (by_rename, 3, "saved+"), (Path.unlink, 1, "+")],
)
def test_what_is_saved_meanwhile_is_not_lost(
    tmp_path: Path, save: Callable[[Path], object], times: int, text: str
) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    Folder(tmp_path).update(NAME, saved_first(path, save, times))
    assert (path.read_text(), os.listdir(tmp_path)) == (text, [NAME])


@pytest.mark.parametrize(("save", "text"), [(in_place, "saved+"), (by_rename, "saved+"), (Path.unlink, "+")])
def test_what_is_saved_at_the_last_moment_is_not_lost(
    tmp_path: Path, save: Callable[[Path], object], text: str
) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    left = [save]

    def slow(draft: str, name: str, folder: int) -> None:
        if left:
            left.pop()(path)
        rename_within(draft, name, folder)

    Folder(tmp_path, slow).update(NAME, appended)
    assert (path.read_text(), os.listdir(tmp_path)) == (text, [NAME])


def test_where_files_cannot_change_places_they_are_renamed(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    left = [in_place]

    def simple(draft: str, name: str, folder: int) -> None:
        if left:
            left.pop()(path)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)

    Folder(tmp_path, simple).update(NAME, appended)
    assert (path.read_text(), os.listdir(tmp_path)) == ("saved+", [NAME])


def test_files_change_places_and_nothing_does_with_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("two")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert (exchange("a", "b", folder), exchange("a", "c", folder)) == (True, False)
    finally:
        os.close(folder)
    assert [(tmp_path / name).read_text() for name in "ab"] == ["two", "one"]


def test_a_file_that_is_empty_for_a_moment_is_being_saved(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("")
    saving = threading.Timer(0.01, in_place, [path])
    saving.start()
    Folder(tmp_path).update(NAME, appended)
    saving.join()
    assert path.read_text() == "saved+"


def test_files_are_for_their_owner_and_replaced_whole(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "documents")
    folder.write(NAME, "one")
    with open(folder.path / NAME) as reader:
        folder.write(NAME, "two")
        assert reader.read() == "one"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.path, folder.path / NAME)]
    assert (folder.read(NAME), modes, folder.names()) == ("two", [0o700, 0o600], (NAME,))


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write(NAME, "one")
    before = (tmp_path / NAME).stat()
    folder.write(NAME, "one")
    after = (tmp_path / NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    folder, elsewhere = Folder(tmp_path / "documents"), tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    folder.write("x", "")
    (folder.path / NAME).symlink_to(elsewhere)
    assert folder.read(NAME) is None
    folder.update(NAME, appended)
    assert (folder.read(NAME), elsewhere.read_text()) == ("+", "mine")


def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "documents").symlink_to(tmp_path / "real")
    folder = Folder(tmp_path / "documents")
    for act in (lambda: folder.write(NAME, "x"), folder.names, lambda: folder.read(NAME)):
        with pytest.raises(RecordFailed, match="move away what is in the way, then try again"):
            act()
    assert os.listdir(tmp_path / "real") == []


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / NAME / "inside").mkdir(parents=True)
    with pytest.raises(RecordFailed) as refusal:
        Folder(tmp_path).write(NAME, "x")
    said = f"{tmp_path / NAME}: Is a directory; move away what is in the way, then try again"
    assert (refusal.value.message, os.listdir(tmp_path)) == (said, [NAME])
    os.mkfifo(tmp_path / "pipe")
    assert Folder(tmp_path).read("pipe") is None


def test_where_there_is_nothing_there_is_nothing_to_read_or_remove(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "documents")
    folder.remove(NAME)
    assert (folder.names(), folder.read(NAME), folder.path.exists()) == ((), None, False)


@given(st.binary(max_size=50))
def test_bytes_that_are_no_text_come_back_as_they_were(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / NAME).write_bytes(data)
        Folder(Path(place)).update(NAME, appended)
        assert (Path(place) / NAME).read_bytes() == data + b"+"


def test_a_file_that_is_emptied_while_it_is_replaced_is_being_saved(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    saving: list[threading.Timer] = []

    def slow(draft: str, name: str, folder: int) -> None:
        if not saving:
            editor = path.open("w")
            saving.append(threading.Timer(0.01, lambda: (editor.write("saved in place"), editor.close())))
            saving[0].start()
        rename_within(draft, name, folder)

    Folder(tmp_path, slow).update(NAME, appended)
    saving[0].join()
    assert path.read_text() == "saved in place+"


def test_a_file_that_is_saved_over_and_over_is_left_to_who_does(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    with pytest.raises(RecordFailed, match="is saved over and over by another program; end that, then try again"):
        Folder(tmp_path).update(NAME, saved_first(path, by_rename, 1000))
    assert (path.read_text(), os.listdir(tmp_path)) == ("saved", [NAME])


def test_a_folder_that_goes_while_it_is_written_to_is_made_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "documents")
    folder.write(NAME, "old")

    def removed(path: Path) -> None:
        path.unlink()
        path.parent.rmdir()

    folder.update(NAME, saved_first(folder.path / NAME, removed))
    assert folder.read(NAME) == "+"


def test_what_cannot_be_read_whole_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with path.open("w") as file:
        file.truncate(READ_BYTES + 1)
    with pytest.raises(RecordFailed, match=f"{NAME}: File too large; move away"):
        Folder(tmp_path).update(NAME, appended)
    assert (path.stat().st_size, os.listdir(tmp_path)) == (READ_BYTES + 1, [NAME])
    with pytest.raises(RecordFailed, match="File name too long"):
        Folder(tmp_path).read("x" * 300)


def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    def full(draft: str, name: str, folder: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / NAME).write_text("old")
    with pytest.raises(RecordFailed, match="No space left on device; free some space, then try again"):
        Folder(tmp_path, full).write(NAME, "x")
    assert ((tmp_path / NAME).read_text(), os.listdir(tmp_path)) == ("old", [NAME])


def test_a_file_that_comes_where_there_was_none_is_not_replaced_unread(tmp_path: Path) -> None:
    path = tmp_path / NAME
    Folder(tmp_path).update(NAME, saved_first(path, in_place))
    assert (path.read_text(), os.listdir(tmp_path)) == ("saved+", [NAME])
