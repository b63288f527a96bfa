"""The state directory."""

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from abey.errors import InvalidArguments, InvalidState, RecordFailed, SessionDamaged, UnknownSession
from abey.protocol.journal import Record
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.store import Store

Units = tuple[tuple[Record, ...], ...]
NOW = "2025-11-30T00:00:00.000Z"
HASH = "0a" * 32
BAD_IDS = ["", "..", "a/b", "A", "-a", "a\n", "a" * 65, "é", "a\0"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home" / "abey", FileIO())


def test_a_session_that_was_created_is_listed_and_opens(store: Store, units: Units) -> None:
    store.create("01k0", units[0]).close()
    found = store.open("01k0", NOW)
    assert store.ids() == ("01k0",)
    assert isinstance(found, Opened)
    assert found == Opened(found.journal, units[0], units[:1], None)


def test_the_directories_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Store(tmp_path / "abey", FileIO())
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "abey", *(tmp_path / "abey").iterdir()]
    }
    assert modes == {"abey": 0o700, "sessions": 0o700, "configs": 0o700}


def test_an_id_is_used_once(store: Store, units: Units) -> None:
    store.create("01k0", units[0])
    with pytest.raises(InvalidState):
        store.create("01k0", units[0])


@pytest.mark.parametrize("session_id", BAD_IDS)
def test_no_path_is_built_from_a_bad_id(store: Store, units: Units, session_id: str) -> None:
    with pytest.raises(InvalidArguments):
        store.create(session_id, units[0])
    with pytest.raises(UnknownSession):
        store.open(session_id, NOW)
    with pytest.raises(InvalidArguments):
        store.save_config(session_id, {})
    assert store.ids() == ()


def test_a_session_that_is_not_there_is_unknown(store: Store) -> None:
    with pytest.raises(UnknownSession) as unknown:
        store.reopen("nobody", NOW)
    assert unknown.value.data == {"kind": "session/unknown", "retryable": False, "sessionId": "nobody"}


def test_a_bad_session_does_not_stop_the_others(store: Store, tmp_path: Path, units: Units) -> None:
    store.create("01k0", units[0])
    sessions = tmp_path / "home" / "abey" / "sessions"
    (sessions / "empty").mkdir()
    (sessions / "file").write_bytes(b"hello")
    (sessions / ".hidden").mkdir()
    (sessions / "dangling").symlink_to("nowhere")
    kinds = {session_id: type(store.open(session_id, NOW)) for session_id in store.ids()}
    assert kinds == {"01k0": Opened, "dangling": Damaged, "empty": Damaged}


@pytest.mark.parametrize("place", ["sessions", "trash"])
def test_a_folder_that_is_none_is_named(tmp_path: Path, place: str) -> None:
    store = Store(tmp_path, FileIO())
    folder = tmp_path / place
    if folder.exists():
        folder.rmdir()
    folder.write_text("x")
    with pytest.raises(RecordFailed) as failed:
        _ = store.ids() if place == "sessions" else store.trashed()
    said = "Not a directory (ENOTDIR); put the folder back, or give it back to its owner"
    assert failed.value.message == f"{folder} cannot be read: {said}"
    assert failed.value.details == {"errno": errno.ENOTDIR, "errnoName": "ENOTDIR"}


def test_a_config_is_kept_once_and_as_it_came(store: Store, tmp_path: Path) -> None:
    config = {"z": None, "a": ["\ud83d", 1.0]}
    store.save_config(HASH, config)
    store.save_config(HASH, {"other": 1})
    path = tmp_path / "home" / "abey" / "configs" / f"{HASH}.json"
    assert path.read_bytes() == b'{"z":null,"a":["\\ud83d",1.0]}\n'
    assert (store.load_config(HASH), store.load_config("0b" * 32)) == (config, None)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_config_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    for at in range(5):
        io = FaultyIO()
        store = Store(tmp_path / str(at), io)
        looks = 1
        io.fault = Fault(at + looks + len(io.calls), errno.ENOSPC, write="partial")
        with pytest.raises(RecordFailed, match=r"the agent config 0a.* could not be written: No space left on device"):
            store.save_config(HASH, {"a": 1})
        assert store.load_config(HASH) == ({"a": 1} if at == 4 else None)
        assert len(list((tmp_path / str(at) / "configs").iterdir())) == (1 if at == 4 else 0)


def test_a_config_that_is_damaged_is_kept_anew(store: Store, tmp_path: Path) -> None:
    store.save_config(HASH, {"a": 1})
    (path,) = (tmp_path / "home" / "abey" / "configs").iterdir()
    path.write_bytes(b"\0" * 9)
    store.save_config(HASH, {"a": 1})
    assert store.load_config(HASH) == {"a": 1}


def test_a_config_that_has_no_place_is_told(store: Store, tmp_path: Path) -> None:
    (tmp_path / "home" / "abey" / "configs" / f"{HASH}.json").mkdir()
    with pytest.raises(RecordFailed, match="EISDIR"):
        store.save_config(HASH, {"a": 1})


def test_a_config_that_cannot_be_read_is_damage(store: Store, tmp_path: Path) -> None:
    (tmp_path / "home" / "abey" / "configs" / f"{HASH}.json").write_bytes(b"{")
    with pytest.raises(SessionDamaged, match=r"the agent config 0a.* cannot be read"):
        store.load_config(HASH)


def test_what_a_crash_leaves_of_a_session_that_was_being_made_holds_nothing(
    store: Store, tmp_path: Path, chunks: tuple[bytes, ...]
) -> None:
    folder = tmp_path / "home" / "abey" / "sessions" / "s1"
    folder.mkdir()
    assert store.holds_nothing("s1")
    first, second, *_ = chunks
    for left in (b"", first[:1], first[:-1], first[: len(first) // 2], bytes(4096)):
        (folder / JOURNAL).write_bytes(left)
        assert store.holds_nothing("s1"), left[:20]
    for whole in (first, first + second[:-1], first[:-2] + b"x\n" + second):
        (folder / JOURNAL).write_bytes(whole)
        assert not store.holds_nothing("s1"), whole[:20]
    with pytest.raises(UnknownSession):
        store.holds_nothing("s2")


def test_a_session_takes_the_id_of_what_a_crash_left_of_one_that_was_being_made_and_not_a_byte_is_lost(
    store: Store, tmp_path: Path, chunks: tuple[bytes, ...], units: Units
) -> None:
    folder = tmp_path / "home" / "abey" / "sessions" / "01k0"
    left: list[bytes | None] = [None, b"", chunks[0][:1], chunks[0][:-1], bytes(4096)]
    for data in left:
        (folder / "blobs").mkdir(parents=True) if data else folder.mkdir()
        if data is not None:
            (folder / JOURNAL).write_bytes(data)
        store.create("01k0", units[0]).close()
        assert isinstance(store.open("01k0", NOW), Opened)
        shutil.rmtree(folder)
    kept = [one.path / JOURNAL for one in store.trashed()]
    assert [path.read_bytes() if path.exists() else None for path in kept] == left


def test_what_may_have_been_a_session_keeps_its_id(
    store: Store, tmp_path: Path, chunks: tuple[bytes, ...], units: Units
) -> None:
    folder = tmp_path / "home" / "abey" / "sessions" / "s1"
    folder.mkdir()
    for name, data in ((JOURNAL, chunks[0]), (JOURNAL, b"hello\n" + chunks[0]), ("snapshot-9.json", b"{}")):
        (folder / name).write_bytes(data)
        with pytest.raises(InvalidState):
            store.create("s1", units[0])
        (folder / JOURNAL).write_bytes(b"")
    assert store.trashed() == ()


def test_nobody_knows_what_a_session_without_its_journal_held(store: Store, tmp_path: Path) -> None:
    (tmp_path / "home" / "abey" / "sessions" / "s1" / "blobs").mkdir(parents=True)
    with pytest.raises(RecordFailed):
        store.holds_nothing("s1")
