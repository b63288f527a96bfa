"""What a damaged journal becomes, and how: nothing is ever lost on the way (journal.md, Recovery)."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.protocol import journal as j
from abey.protocol.journal import Record, Repaired
from abey.runtime.following import Follower
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import JOURNAL
from abey.runtime.store.mending import Gap, Mended, mend
from abey.runtime.store.repairing import Examined, Hopeless, Mendable, Torn, Whole, examine, repair
from abey.runtime.store.scan import End, scan

Chunks = tuple[bytes, ...]
NOW = "2025-11-30T00:00:00.000Z"
DISK = FileIO("process")


def anything(_: Sequence[Record]) -> None:
    return None


def whole(data: bytes) -> Mended:
    found = scan(data)
    return Mended(data, 1 if data else 0, found.end, (), (), True)


def put(directory: Path, data: bytes) -> None:
    directory.mkdir(exist_ok=True)
    (directory / JOURNAL).write_bytes(data)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def looked_at(directory: Path, data: bytes) -> Examined:
    """What is found; and not one byte was changed."""
    put(directory, data)
    found = examine(DISK, directory, Follower(directory.name).take)
    assert files(directory) == {JOURNAL: data}
    return found


def mendable(directory: Path, data: bytes) -> Mendable:
    found = looked_at(directory, data)
    assert isinstance(found, Mendable), found
    return found


def mended(directory: Path, data: bytes) -> bytes:
    """The journal after its repair; the original stays."""
    repair(DISK, mendable(directory, data), NOW)
    after = files(directory)
    assert sorted(after) == [JOURNAL, f"{JOURNAL}.original-1"]
    assert after[f"{JOURNAL}.original-1"] == data
    return after[JOURNAL]


def recorded(
    before: bytes, offset: int, cut: int, may_have_run: bool, lost: tuple[tuple[int, int], ...] | None = None
) -> bytes:
    """The record of a repair that follows these whole bytes."""
    end = scan(before).end
    repaired = Repaired(offset=offset, cut_bytes=cut, may_have_run=may_have_run, lost=lost)
    return encode_unit((Record(end.revision + 1, NOW, repaired),), end.crc)[0]


def test_a_whole_journal_is_kept_as_it_is(chunks: Chunks) -> None:
    data = b"".join(chunks)
    assert mend(data, anything) == whole(data)
    assert mend(b"", anything) == whole(b"")


def test_garbage_between_records_is_left_out_and_nothing_is_lost(chunks: Chunks) -> None:
    """C03"""
    lines = b"".join(chunks).splitlines(keepends=True)
    for number in range(len(lines) + 1):
        before, after = b"".join(lines[:number]), b"".join(lines[number:])
        for garbage in (lines[min(number, len(lines) - 1)][:50] + b"\n", b"\0" * 512 + b"\n", b"\n", b"{}\n"):
            gap = (Gap(len(before), len(before) + len(garbage)),)
            certain = bool(after)
            expected = whole(before + after)
            assert mend(before + garbage + after, anything) == Mended(expected.data, 1, expected.end, gap, (), certain)


def test_a_record_that_begins_in_the_middle_of_a_line_is_found(chunks: Chunks) -> None:
    """C02"""
    lines = b"".join(chunks).splitlines(keepends=True)
    for number in range(1, len(lines)):
        before, after = b"".join(lines[:number]), b"".join(lines[number:])
        half = lines[number][:40]
        expected = whole(before + after)
        gap = (Gap(len(before), len(before) + len(half)),)
        assert mend(before + half + after, anything) == Mended(expected.data, 1, expected.end, gap, (), True)


def test_two_records_on_one_line_are_both_found(chunks: Chunks) -> None:
    data = b"".join(chunks)
    for place in [index for index, byte in enumerate(data[:-1]) if byte == ord("\n")]:
        assert mend(data[:place] + data[place + 1 :], anything) == whole(data)
        other = mend(data[:place] + b"x" + data[place + 1 :], anything)
        assert other == Mended(data, 1, scan(data).end, (Gap(place, place + 1),), (), True)


def test_a_unit_that_is_not_whole_is_set_aside_with_all_that_follows(chunks: Chunks) -> None:
    lines = b"".join(chunks).splitlines(keepends=True)
    broken = [*lines[:4], lines[4].replace(b"policyHash", b"policyHush"), *lines[5:]]
    found = mend(b"".join(broken), anything)
    start, size = len(chunks[0]), sum(map(len, lines))
    assert found == Mended(chunks[0], 1, scan(chunks[0]).end, (Gap(start, size),), (4, *range(6, 13)), False)


def test_a_unit_written_in_part_and_then_whole_is_kept_whole(
    chunks: Chunks, units: tuple[tuple[Record, ...], ...]
) -> None:
    first, *_ = chunks[1].splitlines(keepends=True)
    later = tuple(Record(one.rev, NOW, one.data) for one in units[1])
    again, _ = encode_unit(later, scan(chunks[0]).end.crc)
    found = mend(chunks[0] + first + first[:9] + again, anything)
    data = chunks[0] + again
    start = len(chunks[0])
    gap = (Gap(start, start + len(first) + 9),)
    assert found == Mended(data, 1, scan(data).end, gap, (4,), False)


def test_whole_copies_of_records_are_left_out_and_nothing_is_lost(chunks: Chunks) -> None:
    data = b"".join(chunks)
    copy = chunks[4]
    assert mend(data + copy, anything) == Mended(
        data, 1, scan(data).end, (Gap(len(data), len(data) + len(copy)),), (), True
    )


def test_a_unit_that_cannot_follow_ends_what_is_kept(chunks: Chunks) -> None:
    answers = iter([None, "it is Tuesday"])
    found = mend(b"".join(chunks), lambda _: next(answers))
    start, size = len(chunks[0]), sum(map(len, chunks))
    gap = (Gap(start, size),)
    end = scan(chunks[0]).end
    assert found == Mended(chunks[0], 1, end, gap, tuple(range(4, 13)), False, "it is Tuesday")


@given(st.data())
def test_whatever_is_done_to_a_journal_what_is_kept_is_a_whole_journal_of_its_records(data: st.DataObject) -> None:
    written = b"".join(CHUNKS)
    lines = set(written.splitlines(keepends=True))
    mangled = bytearray(written)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(mangled)))
        size = data.draw(st.integers(0, 400))
        mangled[at : at + size] = data.draw(
            st.one_of(st.binary(max_size=40), st.sampled_from([written[:200], written[300:700], b"\n", b"\0" * 64]))
        )
    found = mend(bytes(mangled), anything)
    kept = scan(found.data)
    assert (kept.problem, kept.end, set(found.data.splitlines(keepends=True)) - lines) == (None, found.end, set())
    left = [line for line in written.splitlines(keepends=True) if line not in found.data]
    assert found.certain <= (not [line for line in left if line in mangled])


def _chunks() -> Chunks:
    created = j.Created(session_id="01k0", agent="a", config={}, config_hash="0" * 64, cwd="/", title="t", env={})
    crc, written = 0, []
    for first, kinds in ((1, [created]), (2, [j.Paused(by="x"), j.Resumed(by="x")]), (4, [j.Paused(by="y")])):
        records = [Record(first + index, NOW, kind) for index, kind in enumerate(kinds)]
        data, crc = encode_unit(records, crc)
        written.append(data)
    return tuple(written)


CHUNKS = _chunks()


def test_many_halves_of_records_on_one_line_take_no_longer_than_their_bytes(chunks: Chunks) -> None:
    data = chunks[0] + b'00000000 {"' * 90_000 + b"\n" + b"".join(chunks[1:])
    assert mend(data, anything).data == b"".join(chunks)


def test_many_copies_of_a_record_take_no_longer_than_their_bytes() -> None:
    first, second = CHUNKS[1].splitlines(keepends=True)
    data = CHUNKS[0] + first * 5_000 + second * 5_000 + CHUNKS[2]
    assert mend(data, anything).data == b"".join(CHUNKS)


def test_repair_keeps_the_original_and_says_what_it_left_out(directory: Path, chunks: Chunks) -> None:
    half = chunks[2][:50] + b"\n"
    data = chunks[0] + chunks[1] + half + b"".join(chunks[2:])
    at = len(chunks[0] + chunks[1])
    found = mendable(directory, data)
    assert found.found == (
        f"damage at byte {at}: the checksum does not match",
        f"bytes {at} to {at + 50} hold no record that continues the journal",
        "revisions 1 to 12 can be kept",
        "nothing is lost",
    )
    assert found.actions == (
        f"keep the journal as it is, {len(data)} bytes, as journal.jsonl.original-1",
        "write revisions 1 to 12 to a new journal in its place",
        "record the repair: nothing else changes",
    )
    expected = b"".join(chunks)
    assert mended(directory, data) == expected + recorded(expected, at, 51, may_have_run=False)
    assert isinstance(looked_at_again(directory), Whole)


def looked_at_again(directory: Path) -> Examined:
    return examine(DISK, directory, Follower(directory.name).take)


def test_what_nothing_leads_to_is_named_and_lost_to_the_session(directory: Path, chunks: Chunks) -> None:
    data = chunks[0] + chunks[1].replace(b"tool_calls", b"tool_cells") + b"".join(chunks[2:])
    found = mendable(directory, data)
    start = len(chunks[0])
    assert found.found == (
        f"damage at byte {start}: the checksum does not match",
        f"bytes {start} to {len(data) - 1} hold no record that continues the journal",
        "revisions 1 to 3 can be kept",
        "revisions 5 to 12 can be read, but nothing kept leads to them: they are lost to the session",
    )
    cut = len(data) - start
    assert mended(directory, data) == chunks[0] + recorded(chunks[0], start, cut, may_have_run=True, lost=((4, 12),))


def test_a_torn_tail_is_what_opening_sees_to(directory: Path, chunks: Chunks) -> None:
    at = len(chunks[0])
    assert looked_at(directory, chunks[0] + chunks[1][:-9]) == Torn(
        (f"the last write, from byte {at} on, is not whole: the line does not end",),
        (
            f"move its {len(chunks[1]) - 9} bytes to journal.jsonl.tail-{at}, as opening the session does",
            "record the repair: every call that has no result is uncertain then",
        ),
    )


def test_a_whole_journal_is_said_to_be_whole(directory: Path, chunks: Chunks) -> None:
    data = b"".join(chunks)
    assert looked_at(directory, data) == Whole((f"the journal is whole: revisions 1 to 12, {len(data)} bytes",))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the journal is empty"),
        (b"\0" * 4096, "the journal holds only NUL bytes"),
        (b"hello\n", "the first record cannot be read, and without it there is no session"),
    ],
)
def test_what_is_no_journal_is_not_mended_and_the_way_out_is_named(directory: Path, data: bytes, reason: str) -> None:
    way_out = "`abey session delete 01k0 --force` moves what is there to the trash"
    assert looked_at(directory, data) == Hopeless((reason,), f"there is nothing to mend; {way_out}")


def test_the_journal_of_another_session_is_not_mended(tmp_path: Path, chunks: Chunks) -> None:
    found = looked_at(tmp_path / "copy", b"".join(chunks))
    assert isinstance(found, Hopeless)
    assert found.found == ("the journal is that of session 01k0",)


def test_a_newer_journal_is_for_a_newer_version(directory: Path, chunks: Chunks) -> None:
    payload = b'{"at":"","data":{},"first":4,"last":4,"prev":"","rev":4,"type":"later","v":2}'
    data = chunks[0] + b"half a record\n" + b"%08x %b\n" % (zlib.crc32(payload), payload)
    at = len(chunks[0]) + 14
    reason = f"a newer version of abey wrote it: byte {at}: format version 2"
    assert looked_at(directory, data) == Hopeless((reason,), "install that version; it can open it")


def test_a_record_that_no_session_can_have_is_cut_off_with_all_that_follows(directory: Path, chunks: Chunks) -> None:
    end = scan(chunks[0]).end
    wrong, _ = encode_unit((Record(4, NOW, j.CallExpired(call_id="c9")),), end.crc)
    found = mendable(directory, chunks[0] + wrong)
    assert (found.mended.end, found.offset, found.found[0]) == (
        End(len(chunks[0]), end.crc, 3),
        len(chunks[0]),
        f"damage at byte {len(chunks[0])}: record 4: call-expired names call c9, which is not open",
    )


def test_snapshots_go_with_the_journal_they_were_made_of(directory: Path, chunks: Chunks) -> None:
    put(directory, chunks[0] + b"x\n" + chunks[1])
    (directory / "snapshot-3.json").write_bytes(b"{}")
    found = looked_at_again(directory)
    assert isinstance(found, Mendable)
    repair(DISK, found, NOW)
    assert sorted(files(directory)) == [JOURNAL, f"{JOURNAL}.original-1"]


def test_an_older_original_stays(directory: Path, chunks: Chunks) -> None:
    first, second = chunks[0] + b"x\n" + chunks[1], chunks[0] + b"y\n" + chunks[1]
    mended(directory, first)
    (directory / JOURNAL).write_bytes(second)
    found = looked_at_again(directory)
    assert isinstance(found, Mendable)
    repair(DISK, found, NOW)
    after = files(directory)
    assert (after[f"{JOURNAL}.original-1"], after[f"{JOURNAL}.original-2"]) == (first, second)


@pytest.mark.parametrize("kind", ["raises", "short", "partial"])
def test_a_repair_that_is_cut_short_anywhere_leaves_the_one_journal_or_the_other(
    tmp_path: Path, chunks: Chunks, kind: str
) -> None:
    data = chunks[0] + b"garbage\n" + b"".join(chunks[1:])
    expected = b"".join(chunks)
    expected += recorded(expected, len(chunks[0]), 8, may_have_run=False)
    outcomes = set()
    for at in range(40):
        directory = tmp_path / str(at) / "01k0"
        directory.parent.mkdir()
        found = mendable(directory, data)
        io = FaultyIO(Fault(at, write=kind, sticky=True))  # type: ignore[arg-type] # one of the three
        try:
            repair(io, found, NOW)
        except OSError:
            done = False
        else:
            done = True
        after = files(directory)
        assert after[JOURNAL] in (data, expected)
        assert data in (after[JOURNAL], after.get(f"{JOURNAL}.original-1"))
        outcomes.add((done, after[JOURNAL] == expected))
        again = looked_at_again(directory)
        if isinstance(again, Mendable):  # what was cut short is done by the next one, with the same original
            repair(DISK, again, NOW)
        kept = {name: text for name, text in files(directory).items() if not name.endswith(".new")}
        assert kept == {JOURNAL: expected, f"{JOURNAL}.original-1": data}
        if done:
            break
    # nothing done, the journal in its place though not known to be durable, all done
    assert outcomes == {(False, False), (False, True), (True, True)}
