"""Blobs on the disk: durable before the record that names them, and never mistaken for what they are not."""

import errno
import hashlib
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from abey.errors import RecordFailed, SessionDamaged
from abey.protocol import journal as j
from abey.protocol.journal import BlobRef, Record
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Opened, open_journal, reopen_journal
from abey.runtime.store.spool import BlobSpool
from abey.runtime.store.store import Store

AT = "2025-11-29T12:00:00.000Z"
NOW = "2025-11-30T00:00:00.000Z"
ONE, TWO = "one " * 10_000, "two " * 20_000

Units = tuple[tuple[Record, ...], ...]


def finished(rev: int, output: str) -> Record:
    return Record(rev, AT, j.CallFinished(call_id="c", outcome="completed", output=output))


@pytest.fixture
def units() -> Units:
    """Three units: a long config and a long input, two outputs, one of them again."""
    created = j.Created(
        session_id="01k0", agent="a", config={"prompt": ONE}, config_hash="c", cwd="/", title="t", env={}
    )
    return (
        (Record(1, AT, created),),
        (finished(2, ONE), finished(3, TWO)),
        (finished(4, TWO),),
    )


def blob(directory: Path, text: str) -> Path:
    return directory / "blobs" / hashlib.sha256(text.encode()).hexdigest()


def written(io: FileIO, directory: Path, units: Units) -> Journal:
    journal = Journal.create(io, directory, units[0])
    for unit in units[1:]:
        journal.append(unit)
    return journal


def opened(directory: Path) -> Opened:
    found = open_journal(FileIO("process"), directory, NOW)
    assert isinstance(found, Opened), found
    return found


def test_a_session_with_blobs_comes_back_whole(directory: Path, units: Units) -> None:
    written(FileIO("process"), directory, units).close()
    found = opened(directory)
    assert (found.units, found.lost) == (units, ())
    assert {path.name: path.read_text() for path in (directory / "blobs").iterdir()} == {
        blob(directory, text).name: text for text in (ONE, TWO)
    }


def test_a_blob_and_its_directory_are_synced_before_the_record_that_names_them(directory: Path, units: Units) -> None:
    io = FaultyIO()
    placed = ["open", "write", "sync", "rename"]
    journal = Journal.create(io, directory, units[0])
    anchored = ["sync_directory", "sync_directory"]
    assert io.calls == [
        *["make_directory", "open", "make_directory", "read", *placed, *anchored],
        *["write", "sync", "sync_directory", "sync_directory"],
    ]
    io.calls.clear()
    journal.append(units[1])
    there = ["read", "open", "sync"]
    assert io.calls == [
        *["make_directory", *there, "read", *placed, "sync_directory"],
        *["write", "sync"],
    ]


def test_a_blob_is_for_its_owner_only(directory: Path, units: Units) -> None:
    written(FileIO(), directory, units)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory / "blobs", blob(directory, ONE))]
    assert modes == [0o700, 0o600]


def test_what_is_there_and_whole_is_not_written_again(directory: Path, units: Units) -> None:
    journal = written(FileIO("process"), directory, units[:2])
    before = blob(directory, TWO).stat()
    journal.append(units[2])
    after = blob(directory, TWO).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("wrong", [b"", TWO.encode()[:-1], b"x" * len(TWO)])
def test_what_is_there_with_wrong_bytes_is_replaced(directory: Path, units: Units, wrong: bytes) -> None:
    journal = written(FileIO("process"), directory, units[:2])
    blob(directory, TWO).write_bytes(wrong)
    assert opened(directory).lost == (f"[damaged: blob {blob(directory, TWO).name}, {len(TWO)} bytes]",)
    journal.append(units[2])
    assert (opened(directory).units, opened(directory).lost) == (units, ())


def remove(path: Path) -> None:
    path.unlink()


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[77] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize(("damage", "how"), [(remove, "missing"), (make_folder, "damaged"), (flip_a_bit, "damaged")])
def test_a_lost_blob_is_shown_as_lost_and_costs_nothing_else(
    directory: Path, units: Units, damage: Callable[[Path], None], how: str
) -> None:
    written(FileIO("process"), directory, units).close()
    damage(blob(directory, TWO))
    found = opened(directory)
    text = f"[{how}: blob {blob(directory, TWO).name}, {len(TWO)} bytes]"
    assert found.units == (units[0], (units[1][0], finished(3, text)), (finished(4, text),))
    assert found.lost == (text, text)
    found.journal.append((finished(5, "goes on"),))


def test_a_session_without_its_blobs_opens(directory: Path, units: Units) -> None:
    written(FileIO("process"), directory, units).close()
    for path in (directory / "blobs").iterdir():
        path.unlink()
    (directory / "blobs").rmdir()
    assert len(opened(directory).lost) == 4


def test_the_size_of_a_session_is_that_of_its_journal_and_its_blobs(directory: Path, units: Units) -> None:
    journal = written(FileIO("process"), directory, units)
    blobs = len(ONE) + len(TWO)
    assert (journal.blobs.size, journal.total) == (blobs, journal.size + blobs)
    assert opened(directory).journal.total == journal.total
    whole = BlobRef(sha256="0" * 64, bytes=7)
    journal.append((Record(5, AT, j.CallFinished(call_id="c", outcome="completed", output="", whole=whole)),))
    assert journal.total == journal.size + blobs + 7


def test_nothing_is_left_of_a_session_whose_blobs_could_not_be_written(directory: Path, units: Units) -> None:
    calls = FaultyIO()
    written(calls, directory.with_name("whole"), units[:1])
    # a look at what lies there already may fail: then it is written
    for at in (at for at, call in enumerate(calls.calls) if call != "read"):
        with pytest.raises(RecordFailed):
            Journal.create(FaultyIO(Fault(at, errno.ENOSPC)), directory, units[0])
        assert not directory.exists()


FAULTS = [
    Fault(0, errno.ENOSPC, write=write, sticky=sticky)
    for write in ("raises", "short", "partial")
    for sticky in (False, True)
]


@pytest.mark.parametrize("kind", FAULTS, ids=str)
def test_no_fault_at_any_call_makes_half_a_unit_count_or_a_record_whose_blob_is_not_there(
    kind: Fault, tmp_path: Path, units: Units
) -> None:
    for at in range(100):
        directory = tmp_path / str(at) / "01k0"
        directory.parent.mkdir()
        io = FaultyIO()
        journal = written(io, directory, units[:1])
        at += len(io.calls)
        io.fault = Fault(at, kind.number, kind.write, kind.sticky)
        acknowledged = append_until_it_fails(journal, units)
        journal.close()
        found = opened(directory)
        assert (found.units[:acknowledged], found.lost) == (units[:acknowledged], ())
        if found.repaired is not None:  # what a write had left could not be cut off
            assert found.units[acknowledged:-1] == ()
            continue
        assert found.units[acknowledged:] in ((), units[acknowledged : acknowledged + 1])
        again = reopen_journal(FileIO("process"), directory, NOW)
        assert isinstance(again, Opened) and again.repaired is None
        for unit in units[len(found.units) :]:
            again.journal.append(unit)
        assert (opened(directory).units, opened(directory).lost) == (units, ())
        if len(io.calls) <= at:
            return
    pytest.fail("the session never ends")


def append_until_it_fails(journal: Journal, units: Units) -> int:
    for index, unit in enumerate(units[1:], 1):
        try:
            journal.append(unit)
        except RecordFailed as failed:
            with pytest.raises(RecordFailed) as later:
                journal.append(unit)
            assert later.value.details == failed.details
            return index
    return len(units)


def session(tmp_path: Path) -> Path:
    directory = tmp_path / "01k0"
    directory.mkdir()
    return directory


def test_a_spool_becomes_a_blob_of_all_that_was_written(tmp_path: Path) -> None:
    directory, io = session(tmp_path), FaultyIO()
    spool = BlobSpool(io, directory, "i1")
    assert (spool.write(b"raw \xff"), spool.write(ONE.encode())) == (True, True)
    assert [path.name for path in (directory / "blobs").iterdir()] == [".i1.part"]
    content = b"raw \xff" + ONE.encode()
    kept = spool.keep()
    spool.drop()
    assert kept == BlobRef(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    assert {path.name: path.read_bytes() for path in (directory / "blobs").iterdir()} == {kept.sha256: content}
    assert io.calls == [
        *["make_directory", "open", "write", "write"],
        *["sync", "rename", "sync_directory", "sync_directory", "remove"],
    ]


def test_a_spool_keeps_the_first_bytes_and_says_when_it_is_full(tmp_path: Path) -> None:
    spool = BlobSpool(FileIO("process"), session(tmp_path), "i1", limit=10)
    assert (spool.write(b"123456"), spool.write(b"7890ab"), spool.write(b"more")) == (True, False, False)
    assert spool.keep() == BlobRef(sha256=hashlib.sha256(b"1234567890").hexdigest(), bytes=10)


def test_nothing_is_left_of_a_spool_that_is_dropped(tmp_path: Path) -> None:
    directory = session(tmp_path)
    unused, used = (BlobSpool(FileIO("process"), directory, name) for name in ("i1", "i2"))
    unused.drop()
    assert list(directory.iterdir()) == []
    used.write(b"some")
    used.drop()
    assert list((directory / "blobs").iterdir()) == []


def test_a_spool_that_meets_a_fault_says_so_and_leaves_no_blob(tmp_path: Path) -> None:
    for at in range(7):
        (tmp_path / str(at)).mkdir()
        directory = session(tmp_path / str(at))
        spool = BlobSpool(FaultyIO(Fault(at, errno.ENOSPC)), directory, "i1")
        with pytest.raises(OSError, match="No space left"):
            spool.write(b"some")
            spool.keep()
        spool.drop()
        assert [path.name for path in directory.glob("blobs/.*")] == []


def test_a_part_of_a_blob_is_read_only_from_one_that_is_whole(tmp_path: Path) -> None:
    store = Store(tmp_path, FileIO("process"))
    (tmp_path / "sessions/s1").mkdir()
    spool = store.spool("s1", "i1")
    content = b"0123456789" * 300_000
    spool.write(content)
    kept = spool.keep()
    parts = [store.read_blob("s1", kept, *part) for part in ((0, 7), (1_048_570, 20), (2_999_995, 99), (3_000_001, 9))]
    assert parts == [content[0:7], content[1_048_570:1_048_590], content[2_999_995:], b""]
    flip_a_bit(tmp_path / "sessions/s1/blobs" / kept.sha256)
    with pytest.raises(SessionDamaged, match=f"session s1: blob {kept.sha256}, 3000000 bytes, is damaged"):
        store.read_blob("s1", kept, 0, 1)
    (tmp_path / "sessions/s1/blobs" / kept.sha256).unlink()
    with pytest.raises(SessionDamaged, match="is missing"):
        store.read_blob("s1", kept, 0, 1)
