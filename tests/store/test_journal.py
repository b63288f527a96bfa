"""Writing a journal: what was acknowledged is there, and what was not never counts twice."""

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.errors import InvalidState, RecordFailed, TooLarge
from abey.protocol.journal import Record, ToolResults
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Opened, open_journal, reopen_journal
from abey.runtime.store.scan import End, Scan, scan

Units = tuple[tuple[Record, ...], ...]
NOW = "2025-11-30T00:00:00.000Z"


def written(io: FileIO, directory: Path, units: Units) -> Journal:
    journal = Journal.create(io, directory, units[0])
    for unit in units[1:]:
        journal.append(unit)
    return journal


def test_a_journal_holds_exactly_the_bytes_of_its_units(
    directory: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    journal = written(FileIO(), directory, units)
    data = journal.path.read_bytes()
    assert data == b"".join(chunks)
    assert scan(data) == Scan(units, End(journal.size, journal.end.crc, 12), None)
    assert (journal.revision, journal.size, journal.path) == (12, len(data), directory / "journal.jsonl")


def test_what_is_made_is_for_its_owner_only_whatever_the_umask(directory: Path, units: Units) -> None:
    for mask in (0o000, 0o277):
        before = os.umask(mask)
        try:
            journal = Journal.create(FileIO(), directory.with_name(f"s{mask}"), units[0])
        finally:
            os.umask(before)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (journal.path.parent, journal.path)]
        assert modes == [0o700, 0o600]


def test_a_journal_that_was_removed_takes_nothing_any_more(directory: Path, units: Units) -> None:
    journal = written(FileIO(), directory, units[:1])
    journal.path.unlink()
    with pytest.raises(RecordFailed) as failed:
        journal.append(units[1])
    assert failed.value.details == {"errno": errno.ESTALE, "errnoName": "ESTALE"}
    assert not journal.path.exists()


def test_a_unit_costs_one_write_and_one_sync(directory: Path, units: Units) -> None:
    io = FaultyIO()
    journal = written(io, directory, units[:1])
    created = ["make_directory", "open", "write", "sync", "sync_directory", "sync_directory"]
    assert io.calls == created
    for unit in units[1:]:
        journal.append(unit)
    assert io.calls == created + ["write", "sync"] * 4


def test_an_opened_journal_goes_on_where_it_ended(directory: Path, units: Units, chunks: tuple[bytes, ...]) -> None:
    written(FileIO("process"), directory, units[:2]).close()
    io = FaultyIO()
    found = open_journal(io, directory, NOW)
    assert isinstance(found, Opened)
    assert io.calls == ["read"]
    for unit in units[2:]:
        found.journal.append(unit)
    assert io.calls == ["read", "open"] + ["write", "sync"] * 3
    assert found.journal.path.read_bytes() == b"".join(chunks)


def test_a_session_that_is_there_is_not_created_again(directory: Path, units: Units, chunks: tuple[bytes, ...]) -> None:
    written(FileIO("process"), directory, units)
    with pytest.raises(InvalidState) as refused:
        Journal.create(FileIO("process"), directory, units[0])
    assert refused.value.data == {"kind": "state/invalid", "retryable": False, "sessionId": "01k0"}
    assert (directory / "journal.jsonl").read_bytes() == b"".join(chunks)


def test_a_record_above_the_limit_is_refused_and_the_journal_goes_on(directory: Path, units: Units) -> None:
    io = FaultyIO()
    journal = written(io, directory, units[:1])
    calls = list(io.calls)
    huge = ToolResults(turn_id="t", step_id="s", call_ids=tuple("c" * 1000 for _ in range(1100)))
    with pytest.raises(TooLarge):
        journal.append((Record(4, NOW, huge),))
    with pytest.raises(TooLarge):
        Journal.create(io, directory.with_name("other"), (Record(1, NOW, huge),))
    assert io.calls == calls
    journal.append(units[1])
    assert scan(journal.path.read_bytes()).units == units[:2]


def test_a_unit_out_of_order_is_refused_and_the_journal_goes_on(directory: Path, units: Units) -> None:
    journal = written(FileIO("process"), directory, units[:1])
    with pytest.raises(ValueError, match="revision 7 cannot follow 3"):
        journal.append(units[2])
    journal.append(units[1])


def test_a_failed_sync_kills_the_handle_and_is_never_tried_again(directory: Path, units: Units) -> None:
    io = FaultyIO()
    journal = written(io, directory, units[:1])
    io.fault = Fault(at=len(io.calls) + 1)
    with pytest.raises(RecordFailed) as failed:
        journal.append(units[1])
    assert (failed.value.message, failed.value.data) == (
        "the journal of session 01k0 could not be written: Input/output error (EIO)",
        {"kind": "record/failed", "retryable": False, "errno": errno.EIO, "errnoName": "EIO"},
    )
    io.fault = None
    for _ in range(2):
        with pytest.raises(RecordFailed):
            journal.append(units[1])
    assert io.calls[6:] == ["write", "sync", "truncate"]
    assert scan(journal.path.read_bytes()).units == units[:1]


def test_a_failed_write_says_why_and_where_its_bytes_stayed(directory: Path, units: Units) -> None:
    io = FaultyIO()
    journal = written(io, directory, units[:1])
    io.fault = Fault(at=len(io.calls), number=errno.ENOSPC, write="partial", sticky=True)
    with pytest.raises(RecordFailed) as failed:
        journal.append(units[1])
    assert failed.value.message == (
        "the journal of session 01k0 could not be written: No space left on device (ENOSPC)"
        "; what it left could not be cut off: No space left on device"
    )


def test_a_short_write_is_a_failure_and_its_bytes_are_cut_off(directory: Path, units: Units) -> None:
    io = FaultyIO()
    journal = written(io, directory, units[:1])
    io.fault = Fault(at=len(io.calls), write="short")
    with pytest.raises(RecordFailed) as failed:
        journal.append(units[1])
    assert failed.value.details == {"errno": errno.EIO, "errnoName": "EIO"}
    assert io.calls[6:] == ["write", "write", "truncate"]
    assert scan(journal.path.read_bytes()).units == units[:1]
    with pytest.raises(RecordFailed):
        journal.append(units[1])


def test_a_short_write_fails_with_the_reason_that_the_rest_meets(directory: Path, units: Units) -> None:
    io = FillingUp()
    journal = written(io, directory, units[:1])
    io.room = 100
    with pytest.raises(RecordFailed) as failed:
        journal.append(units[1])
    assert failed.value.details == {"errno": errno.EDQUOT, "errnoName": "EDQUOT"}
    assert scan(journal.path.read_bytes()).units == units[:1]


class FillingUp(FaultyIO):
    """A disk that takes `room` bytes, and only the next write learns why it took no more."""

    room = 1 << 20

    def write(self, descriptor: int, data: memoryview) -> int:
        if not self.room:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        written = super().write(descriptor, data[: self.room])
        self.room -= written
        return written


def test_nothing_is_left_of_a_session_that_could_not_be_created(directory: Path, units: Units) -> None:
    calls = FaultyIO()
    written(calls, directory.with_name("whole"), units[:1])
    for at in range(len(calls.calls)):
        with pytest.raises(RecordFailed):
            Journal.create(FaultyIO(Fault(at, errno.ENOSPC)), directory, units[0])
        assert not directory.exists()


def test_a_journal_that_somebody_else_changed_is_not_written(directory: Path, units: Units) -> None:
    written(FileIO("process"), directory, units[:2]).close()
    found = open_journal(FileIO("process"), directory, NOW)
    assert isinstance(found, Opened)
    path = found.journal.path
    path.write_bytes(path.read_bytes() + b"hello\n")
    with pytest.raises(RecordFailed, match="somebody else has changed the journal"):
        found.journal.append(units[2])
    assert path.read_bytes().endswith(b"}\nhello\n")


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "taken with its folder", "grown", "an older copy"])
def test_a_journal_that_somebody_touched_while_it_was_open_is_not_written(
    directory: Path, units: Units, how: str
) -> None:
    journal = written(FileIO("process"), directory, units[:2])
    path, aside, whole = journal.path, directory.with_name("aside"), journal.path.read_bytes()
    match how:
        case "removed":
            path.unlink()
        case "renamed":
            path.rename(aside)
            path.write_bytes(whole)
        case "replaced":
            aside.write_bytes(whole)
            aside.rename(path)
        case "taken with its folder":
            directory.rename(aside)
        case "grown":
            path.write_bytes(whole + b"hello\n")
        case _:
            path.write_bytes(whole[: whole.index(b"\n") + 1])
    before = [file.read_bytes() for file in directory.parent.rglob("*") if file.is_file()]
    with pytest.raises(RecordFailed, match="ESTALE"):
        journal.append(units[2])
    assert [file.read_bytes() for file in directory.parent.rglob("*") if file.is_file()] == before


class Unclosable(FileIO):
    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        raise OSError(errno.EIO, "no")


def test_a_descriptor_that_cannot_be_closed_is_no_matter_of_who_gives_it_up(
    directory: Path, units: Units, caplog: pytest.LogCaptureFixture
) -> None:
    written(FileIO("process"), directory, units[:1]).close()
    found = open_journal(Unclosable("process"), directory, NOW)
    assert isinstance(found, Opened)
    journal = found.journal
    for unit in units[1:3]:
        journal.append(unit)
        journal.park()
    journal.append(units[3])
    journal.close()
    assert (scan(journal.path.read_bytes()).units, caplog.messages) == (
        units[:4],
        [f"the journal of session {directory.name} cannot be closed: [Errno 5] no"] * 3,
    )


def test_a_closed_journal_takes_no_records(directory: Path, units: Units) -> None:
    journal = written(FileIO("process"), directory, units[:1])
    journal.close()
    journal.close()
    with pytest.raises(RecordFailed, match="EBADF"):
        journal.append(units[1])


def test_a_full_disk_is_an_error_with_its_errno(directory: Path, units: Units) -> None:
    directory.mkdir()
    (directory / "journal.jsonl").symlink_to("/dev/full")
    with pytest.raises(RecordFailed) as failed:
        Journal(FileIO("process"), directory / "journal.jsonl", End()).append(units[0])
    assert failed.value.data["errnoName"] == "ENOSPC"


FAULTS = [
    Fault(0, number, write=write, sticky=sticky)
    for number in (errno.ENOSPC, errno.EIO)
    for write in ("raises", "short", "partial")
    for sticky in (False, True)
]


@pytest.mark.parametrize("kind", FAULTS, ids=str)
def test_no_fault_at_any_call_loses_an_acknowledged_unit_or_acknowledges_a_lost_one(
    kind: Fault, tmp_path: Path, units: Units
) -> None:
    """Sessions that reopen after every failure, one fault at the n-th call, for every n until none is met."""
    for at in range(100):
        directory = tmp_path / str(at) / "01k0"
        directory.parent.mkdir()
        io = FaultyIO(Fault(at, kind.number, kind.write, kind.sticky))
        acknowledged = session_under_faults(io, directory, units)
        check_whole(directory, units, acknowledged)
        if len(io.calls) <= at:
            return
    pytest.fail("the sessions never end")


def session_under_faults(io: FileIO, directory: Path, units: Units) -> int:
    """How many of `units` were acknowledged. After a failure the session is reopened once, then given up."""
    acknowledged = 0
    journal: Journal | None = None
    for _ in range(2):
        try:
            if acknowledged == 0:
                journal = Journal.create(io, directory, units[0])
                acknowledged = 1
            elif isinstance(found := reopen_journal(io, directory, NOW), Opened):
                journal = found.journal
            for unit in units[acknowledged:]:
                if journal is None or journal.revision + 1 != unit[0].rev:
                    break
                journal.append(unit)
                acknowledged += 1
        except (RecordFailed, InvalidState):
            if journal is not None:
                journal.close()
    return acknowledged


def check_whole(directory: Path, units: Units, acknowledged: int) -> None:
    found = open_journal(FileIO("process"), directory, NOW)
    if acknowledged == 0:
        assert not isinstance(found, Opened) or found.units == units[:1]
        return
    assert isinstance(found, Opened), found
    assert found.units[:acknowledged] == units[:acknowledged]
    # what was not acknowledged may be there, but only once and whole; else it is a repair
    rest = [record.data.type for record in found.records[sum(map(len, units[:acknowledged])) :]]
    allowed = [record.data.type for unit in units[acknowledged : acknowledged + 1] for record in unit]
    assert rest in ([], ["repaired"], allowed, [*allowed, "repaired"])


class LossyIO(FileIO):
    """Knows which bytes of the journal a power cut cannot take."""

    def __init__(self) -> None:
        super().__init__("process")
        self.durable = 0

    def sync(self, descriptor: int) -> None:
        self.durable = self.file(descriptor).st_size


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_power_cut_takes_nothing_that_was_acknowledged(
    tmp_path_factory: pytest.TempPathFactory, units: Units, data: st.DataObject
) -> None:
    """Every 16-byte sector written after the last sync is there, zero or noise; the size may be any."""
    directory = tmp_path_factory.mktemp("power") / "01k0"
    io = LossyIO()
    count = data.draw(st.integers(1, 4))
    journal = written(io, directory, units[:count])
    durable = io.durable
    journal.append(units[count])
    image = journal.path.read_bytes()
    after = bytearray(image[: data.draw(st.integers(durable, len(image)))])
    for start in range(durable // 16 * 16, len(after), 16):
        lost = data.draw(st.sampled_from([None, None, b"\0" * 16, b"\n5f {0bc\\\xff9e7d1"[:16].ljust(16, b"x")]))
        begin = max(start, durable)
        if lost is not None:
            after[begin : start + 16] = lost[: len(after[begin : start + 16])]
    journal.path.write_bytes(after)
    found = open_journal(FileIO("process"), directory, NOW)
    assert isinstance(found, Opened)
    assert found.units[:count] == units[:count]
    assert found.units[count:] in ((), (units[count],), found.units[-1:] if found.repaired else ())
