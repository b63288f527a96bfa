"""The trash: what was deleted when, and in which order (journal.md, The trash)."""

from pathlib import Path

from abey.runtime.store.io import FileIO
from abey.runtime.store.trash import Trashed, deleted_at, take_back, throw_away, trashed

DISK = FileIO("process")
LATER, EARLIER = "2026-11-29T22:03:08.123Z", "1999-01-01T00:00:00.000Z"


def test_a_deletion_keeps_its_time_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "sessions" / "a-_9").mkdir(parents=True)
    found = throw_away(DISK, tmp_path / "sessions" / "a-_9", tmp_path / "trash", LATER)
    path = tmp_path / "trash" / "a-_9.1.2026-11-29T220308.123Z"
    assert found == Trashed("a-_9", 1, LATER, path)
    assert (trashed(DISK, tmp_path / "trash"), deleted_at(path), path.is_dir()) == ((found,), LATER, True)
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_order_of_deletions_is_theirs_and_not_that_of_the_clock(tmp_path: Path) -> None:
    session, trash = tmp_path / "sessions" / "a", tmp_path / "trash"
    for now in (LATER, EARLIER, LATER):
        session.mkdir(parents=True)
        throw_away(DISK, session, trash, now)
    (tmp_path / "sessions" / "b").mkdir()
    throw_away(DISK, tmp_path / "sessions" / "b", trash, EARLIER)
    found = trashed(DISK, trash)
    assert [(one.session_id, one.number, one.deleted_at) for one in found] == [
        ("a", 1, LATER),
        ("a", 2, EARLIER),
        ("a", 3, LATER),
        ("b", 1, EARLIER),
    ]
    take_back(DISK, found[2], tmp_path / "sessions")
    assert (session.is_dir(), len(trashed(DISK, trash))) == (True, 3)


def test_what_no_deletion_put_there_is_not_in_the_trash(tmp_path: Path) -> None:
    trash = tmp_path / "trash"
    assert trashed(DISK, trash) == ()
    for name in ("a", "a.1", ".1.2026-11-29T220308.123Z", "A.1.2026-11-29T220308.123Z", "a.x.2026-11-29T220308.123Z"):
        (trash / name).mkdir(parents=True)
        assert deleted_at(trash / name) is None
    (trash / "a.1.2026-11-29T220308.123Z.going").mkdir()
    assert trashed(DISK, trash) == ()
