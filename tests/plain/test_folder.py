"""Files that editors read and write while the daemon does: replaced whole, nobody's words lost, no link followed."""

import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.daemon.plain.folder import Folder, rename_within
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


def test_what_is_saved_into_the_file_that_is_being_replaced_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("old")
    left = ["saved at the last moment"]

    def slow(draft: str, name: str, folder: int) -> None:
        if left:
            path.write_text(left.pop())
        rename_within(draft, name, folder)

    Folder(tmp_path, slow).update(NAME, appended)
    assert path.read_text() == "saved at the last moment+"


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
    assert (tmp_path / NAME).stat() == before


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
    with pytest.raises(RecordFailed, match="move away what is in the way"):
        Folder(tmp_path).write(NAME, "x")
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
