"""Opening what a crash, a person or another program left (journal.md, Recovery)."""

import errno
import os
import zlib
from pathlib import Path

import pytest

from abey.protocol.journal import Record, Repaired
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Damaged, Opened, open_journal, reopen_journal

Units = tuple[tuple[Record, ...], ...]
NOW = "2025-11-30T00:00:00.000Z"
DISK = FileIO("process")
GOLDEN = Path(__file__).parents[1] / "data" / "journal-v1.jsonl"


def put(directory: Path, data: bytes) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "journal.jsonl").write_bytes(data)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def flat(units: Units) -> tuple[Record, ...]:
    return tuple(record for unit in units for record in unit)


def test_r1_a_torn_tail_is_kept_cut_and_recorded(directory: Path, units: Units, chunks: tuple[bytes, ...]) -> None:
    good = chunks[0] + chunks[1]
    put(directory, good + chunks[2][:-9])
    io = FaultyIO()
    found = open_journal(io, directory, NOW)
    repaired = Repaired(offset=len(good), cut_bytes=len(chunks[2]) - 9, may_have_run=True)
    unit = (Record(7, NOW, repaired),)
    line, crc = encode_unit(unit, int(good.splitlines()[-1][:8], 16))
    assert isinstance(found, Opened)
    assert found == Opened(found.journal, flat((*units[:2], unit)), (*units[:2], unit), repaired)
    assert (found.journal.revision, found.journal.size, found.journal.end.crc) == (7, len(good + line), crc)
    assert files(directory) == {"journal.jsonl": good + line, f"journal.jsonl.tail-{len(good)}": chunks[2][:-9]}
    # the tail is safe before the journal is cut, and the cut before anything follows it
    keep, cut, append = (
        ["open", "write", "sync", "sync_directory"],
        ["open", "truncate", "sync"],
        ["open", "write", "sync"],
    )
    assert io.calls == ["read", *keep, *cut, *append]
    again = open_journal(DISK, directory, NOW)
    assert isinstance(again, Opened)
    assert again == Opened(again.journal, flat((*units[:2], unit)), (*units[:2], unit), None)


def test_r1_an_older_tail_of_the_same_offset_stays(directory: Path, chunks: tuple[bytes, ...]) -> None:
    put(directory, chunks[0] + b"second")
    name = f"journal.jsonl.tail-{len(chunks[0])}"
    (directory / name).write_bytes(b"first")
    assert isinstance(open_journal(DISK, directory, NOW), Opened)
    found = files(directory)
    assert (found[name], found[f"{name}.1"]) == (b"first", b"second")


def test_r1_a_link_that_leads_nowhere_is_an_older_tail(directory: Path, chunks: tuple[bytes, ...]) -> None:
    put(directory, chunks[0] + b"second")
    link = directory / f"journal.jsonl.tail-{len(chunks[0])}"
    link.symlink_to("nowhere")
    found = open_journal(DISK, directory, NOW)
    assert isinstance(found, Opened)
    assert found.repaired == Repaired(offset=len(chunks[0]), cut_bytes=len(b"second"), may_have_run=True)
    assert link.with_name(f"{link.name}.1").read_bytes() == b"second"
    assert link.is_symlink()


def test_r1_a_torn_first_write_leaves_no_session_and_is_not_changed(directory: Path, chunks: tuple[bytes, ...]) -> None:
    for cut in (1, len(chunks[0]) // 2, len(chunks[0]) - 1):
        put(directory, chunks[0][:cut])
        found = open_journal(DISK, directory, NOW)
        assert isinstance(found, Damaged)
        assert found == Damaged("01k0", found.reason, 0, ())
        assert found.reason.startswith("the first write is not whole, or this is no journal: ")
        assert files(directory) == {"journal.jsonl": chunks[0][:cut]}


def test_r1_a_tail_that_cannot_be_repaired_leaves_the_session_to_read(
    tmp_path: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    good = chunks[0] + chunks[1]
    for at in range(1, 11):
        directory = tmp_path / str(at) / "01k0"
        directory.parent.mkdir()
        put(directory, good + b"torn")
        found = open_journal(FaultyIO(Fault(at, errno.EROFS)), directory, NOW)
        assert isinstance(found, Damaged)
        assert found == Damaged("01k0", found.reason, len(good), flat(units[:2]))
        assert found.reason.startswith("the last write is not whole, and could not be repaired: ")
        assert (directory / "journal.jsonl").read_bytes().startswith(good)
        # the next opening finishes the repair, wherever this one ended, and the one after it has nothing to do
        repaired = Repaired(offset=len(good), cut_bytes=4, may_have_run=True)
        for expected in (repaired, None):
            again = open_journal(DISK, directory, NOW)
            assert isinstance(again, Opened)
            unit = (Record(7, NOW, repaired),)
            assert again == Opened(again.journal, flat((*units[:2], unit)), (*units[:2], unit), expected)


def test_r2_damage_in_the_middle_opens_up_to_it_and_is_not_changed(
    directory: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    data = chunks[0] + chunks[1].replace(b"tool_calls", b"tool_cells") + chunks[2]
    put(directory, data)
    expected = Damaged("01k0", "the checksum does not match", len(chunks[0]), units[0])
    assert open_journal(DISK, directory, NOW) == expected
    assert reopen_journal(DISK, directory, NOW) == expected
    assert files(directory) == {"journal.jsonl": data}


def test_r3_a_newer_journal_is_read_up_to_the_first_new_record_and_not_changed(
    directory: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    payload = b'{"at":"","data":{},"first":4,"last":4,"prev":"","rev":4,"type":"later","v":2}'
    data = chunks[0] + b"%08x %b\n" % (zlib.crc32(payload), payload) + b"torn"
    put(directory, data)
    reason = "written by a newer version: format version 2"
    assert open_journal(DISK, directory, NOW) == Damaged("01k0", reason, len(chunks[0]), units[0])
    assert files(directory) == {"journal.jsonl": data}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the journal is empty"),
        (b"\0" * 4096, "the journal holds only NUL bytes"),
        (b"hello\n", "the first write is not whole, or this is no journal: the checksum does not match"),
        (
            b"\xff\xfe" * 32,
            "the first write is not whole, or this is no journal: the line does not end",
        ),
        (b"00000000 \n", "not the JSON of a record"),
    ],
)
def test_r4_a_file_that_is_no_journal_is_damaged_and_not_changed(directory: Path, data: bytes, reason: str) -> None:
    put(directory, data)
    assert open_journal(DISK, directory, NOW) == Damaged("01k0", reason, 0, ())
    assert files(directory) == {"journal.jsonl": data}


def test_r4_a_directory_without_a_journal_is_damaged(directory: Path) -> None:
    directory.mkdir()
    assert open_journal(DISK, directory, NOW) == Damaged("01k0", "there is no journal", None, ())
    assert files(directory) == {}


def test_r4_what_cannot_be_read_is_damaged(tmp_path: Path, chunks: tuple[bytes, ...]) -> None:
    pipe, folder, file, closed = (tmp_path / name for name in ("pipe", "folder", "file", "closed"))
    pipe.mkdir()
    os.mkfifo(pipe / "journal.jsonl")
    (folder / "journal.jsonl").mkdir(parents=True)
    file.write_bytes(b"")
    put(closed, chunks[0])
    denied = FaultyIO(Fault(0, errno.EACCES))
    found = [open_journal(DISK, where, NOW) for where in (pipe, folder, file)] + [open_journal(denied, closed, NOW)]
    reasons = ["not a regular file", "not a regular file", "Not a directory", "Permission denied"]
    assert found == [
        Damaged(where.name, f"the journal cannot be read: {reason}", None, ())
        for where, reason in zip((pipe, folder, file, closed), reasons, strict=True)
    ]


def test_r4_the_journal_of_another_session_is_damaged(tmp_path: Path, units: Units, chunks: tuple[bytes, ...]) -> None:
    put(tmp_path / "copy", chunks[0] + b"torn")
    reason = "the journal is that of session 01k0"
    assert open_journal(DISK, tmp_path / "copy", NOW) == Damaged("copy", reason, 0, ())
    put(tmp_path / "odd", encode_unit(units[4], 0)[0])
    reason = "the journal does not begin with the record created"
    assert open_journal(DISK, tmp_path / "odd", NOW) == Damaged("odd", reason, 0, ())
    assert files(tmp_path / "copy") == {"journal.jsonl": chunks[0] + b"torn"}


def test_r7_the_golden_journal_of_version_1_opens(directory: Path, units: Units) -> None:
    put(directory, GOLDEN.read_bytes())
    found = open_journal(DISK, directory, NOW)
    assert isinstance(found, Opened)
    assert found == Opened(found.journal, flat(units), units, None)


def test_reopening_after_a_failure_goes_on_in_a_new_file(
    directory: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    io = FaultyIO()
    journal = Journal.create(io, directory, units[0])
    io.fault = Fault(at=len(io.calls) + 1)
    with pytest.raises(Exception, match="EIO"):
        journal.append(units[1])
    journal.close()
    before = journal.path.stat().st_ino
    io.calls.clear()
    io.fault = None
    found = reopen_journal(io, directory, NOW)
    assert isinstance(found, Opened)
    assert found == Opened(found.journal, units[0], units[:1], None)
    assert io.calls == ["read", "read", "open", "write", "sync", "rename", "sync_directory"]
    assert found.journal.path.stat().st_ino != before
    found.journal.append(units[1])
    assert files(directory) == {"journal.jsonl": chunks[0] + chunks[1]}


def test_a_repair_leaves_no_descriptor_whether_it_succeeds_or_not(
    directory: Path, units: Units, chunks: tuple[bytes, ...]
) -> None:
    class Counting(FaultyIO):
        held = 0

        def open(self, path: Path, flags: int) -> int:
            descriptor = super().open(path, flags)
            self.held += 1
            return descriptor

        def close(self, descriptor: int) -> None:
            self.held -= 1
            super().close(descriptor)

    directory.mkdir()
    torn = b"".join(chunks)[:-7]
    for at in (None, *range(12)):
        (directory / "journal.jsonl").write_bytes(torn)
        io = Counting(None if at is None else Fault(at))
        open_journal(io, directory, NOW)
        assert io.held == 0, at
