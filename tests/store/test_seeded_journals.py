"""Journals that begin at another revision than 1: whatever happens to them, they are read like any other."""

from pathlib import Path

import pytest
from support.seeds import answered, call, said, told
from support.world import answer

from abey.core.machine import Machine
from abey.core.replay import fold
from abey.core.session import Session
from abey.protocol import journal as j
from abey.protocol.base import sha256_hex
from abey.protocol.journal import Record
from abey.runtime.event_log import EventLog
from abey.runtime.following import Follower
from abey.runtime.peeking import peek
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.recovery import Damaged, Opened, load_journal, open_journal, reopen_journal
from abey.runtime.store.repairing import Hopeless, Mendable, examine, repair
from abey.runtime.store.scan import Damage, TornTail, scan
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.snapshots import write_snapshot
from abey.runtime.store.store import Store
from abey.runtime.transfer.exporting import export
from abey.runtime.transfer.jsonl import read_lines

NOW = "2026-11-30T00:00:00.000Z"
DISK = FileIO("process")
Units = list[tuple[Record, ...]]


def story() -> Units:
    """A seed at revision 7 that leaves a call open, then a whole turn: the records, write by write."""
    world = told(said("hi"), answered(call("c1", "no")), revision=7)
    world.drive()
    world.model_says(answer(text="yes"))
    found, start = [], 0
    for end in world.units:
        found.append(tuple(Record(one.rev, NOW, at_home(one.data)) for one in world.records[start:end]))
        start = end
    return found


def at_home(data: j.RecordData) -> j.RecordData:
    """The agent's config is one that its hash is of."""
    known = {"config_hash": sha256_hex({})} if hasattr(data, "config_hash") else {}
    return data.model_copy(update=known)


def chunks() -> list[bytes]:
    crc, found = 0, []
    for unit in story():
        chunk, crc = encode_unit(unit, crc)
        found.append(chunk)
    return found


def put(directory: Path, data: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / JOURNAL).write_bytes(data)
    return directory


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "s1"


def session_of(records: tuple[Record, ...]) -> Session:
    session = fold(records)
    assert session is not None
    return session


def test_it_is_whole(directory: Path) -> None:
    found = open_journal(DISK, put(directory, b"".join(chunks())), NOW)
    assert isinstance(found, Opened)
    assert list(found.units) == story()
    assert (found.records[0].rev, found.journal.revision) == (8, 15)


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_torn_tail_is_cut_and_recorded_after_its_own_revision(directory: Path, cut: int) -> None:
    data = b"".join(chunks())
    found = open_journal(DISK, put(directory, data[:-cut]), NOW)
    assert isinstance(found, Opened)
    assert found.repaired is not None
    assert [one.rev for one in found.records] == list(range(8, 14 + 1))
    assert session_of(found.records).first_rev == 8


@pytest.mark.parametrize("at", [0, 30, 500])
def test_a_first_write_that_is_not_whole_is_no_session_and_damages_nothing(directory: Path, at: int) -> None:
    """Whatever of its sectors reached the disk, in any order."""
    first = bytearray(chunks()[0])
    first[at] ^= 1
    assert scan(bytes(first)).problem == TornTail(0, "the checksum does not match")
    found = open_journal(DISK, put(directory, bytes(first)), NOW)
    assert isinstance(found, Damaged)
    assert found.reason.startswith("the first write is not whole, or this is no journal")


def test_a_record_that_is_no_longer_what_was_written_is_damage(directory: Path) -> None:
    whole = chunks()
    data = bytearray(b"".join(whole))
    data[10] ^= 1
    assert isinstance(scan(bytes(data)).problem, Damage)
    assert isinstance(examine(DISK, put(directory, bytes(data)), Follower("s1").take), Hopeless)


def test_a_damaged_end_is_mended(directory: Path) -> None:
    first, second, third = chunks()
    bad = bytearray(second)
    bad[12] ^= 1
    found = examine(DISK, put(directory, first + bytes(bad) + third), Follower("s1").take)
    assert isinstance(found, Mendable)
    repair(DISK, found, NOW)
    opened = open_journal(DISK, directory, NOW)
    assert isinstance(opened, Opened)
    assert session_of(opened.records).first_rev == 8
    assert isinstance(opened.records[-1].data, j.Repaired)


def test_a_snapshot_of_it_helps(directory: Path) -> None:
    opened = open_journal(DISK, put(directory, b"".join(chunks())), NOW)
    assert isinstance(opened, Opened)
    log = EventLog()
    for unit in opened.units:
        log.add(unit)
    assert log.session is not None
    write_snapshot(DISK, directory, Snapshot(log.session, opened.journal.end, opened.journal.hash, log.next_seq))
    loaded = load_journal(DISK, directory, NOW)
    assert isinstance(loaded, Opened)
    assert loaded.base.snapshot is not None
    assert (loaded.base.snapshot.session, loaded.records) == (session_of(opened.records), ())


def test_it_is_reopened_and_looked_at(directory: Path) -> None:
    data = b"".join(chunks())
    opened = reopen_journal(DISK, put(directory, data), NOW)
    assert isinstance(opened, Opened)
    assert (directory / JOURNAL).read_bytes() == data
    looked = peek(DISK, directory)
    assert (looked.session, looked.damage, looked.torn) == (session_of(opened.records), None, False)


def test_it_goes_out_and_comes_in_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", DISK)
    records = [record for unit in story() for record in unit]
    store.create("s1", records[:3]).append(records[3:])
    lines = b"".join(export(store, "s1", None, "jsonl").pieces)
    held = read_lines("f", lines)
    assert held.records == records
    for form in ("markdown", "agents-exe"):
        assert b"".join(export(store, "s1", None, form).pieces)
    assert Machine(session_of(tuple(records))).session.revision == 15
