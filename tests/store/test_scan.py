"""What is found in the bytes of a journal, however they were cut, flipped, copied or glued."""

import time
import zlib
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.protocol.journal import Record
from abey.runtime.store.codec import encode_unit
from abey.runtime.store.mending import mend
from abey.runtime.store.scan import Damage, End, NewerVersion, Scan, TornTail, holds_nothing, scan

Units = tuple[tuple[Record, ...], ...]


def whole(units: Units, chunks: tuple[bytes, ...], count: int, problem: TornTail | Damage | None = None) -> Scan:
    """The scan of the first `count` units."""
    data = b"".join(chunks[:count])
    crc = int(data.splitlines()[-1][:8], 16) if count else 0
    return Scan(units[:count], End(len(data), crc, units[count - 1][-1].rev if count else 0), problem)


def test_a_journal_cut_at_any_byte_holds_the_units_before_the_cut(units: Units, chunks: tuple[bytes, ...]) -> None:
    data = b"".join(chunks)
    ends = list(accumulate(map(len, chunks), initial=0))
    for cut in range(len(data) + 1):
        count = sum(end <= cut for end in ends) - 1
        found = scan(data[:cut])
        assert (found.units, found.end) == (units[:count], whole(units, chunks, count).end)
        assert isinstance(found.problem, TornTail) == (cut not in ends)
        assert found.problem is None or found.problem.offset == ends[count]


def test_a_flipped_bit_in_any_byte_is_found_at_its_record(units: Units, chunks: tuple[bytes, ...]) -> None:
    data = b"".join(chunks)
    last_write = len(data) - len(chunks[-1])
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << (place % 8)
        found = scan(bytes(flipped))
        start = data.rfind(b"\n", 0, place) + 1
        assert found.units == units[: len(found.units)]
        assert found.end.size <= place
        if place >= last_write:
            assert found.problem == TornTail(last_write, found.problem.reason if found.problem else "")
        else:
            assert found.problem == Damage(start, found.problem.reason if found.problem else "")


def test_a_newline_that_a_torn_write_overwrote_glues_its_records_and_is_a_torn_tail_still(
    chunks: tuple[bytes, ...],
) -> None:
    before, last = b"".join(chunks[:3]), chunks[3]
    newline = last.index(b"\n")
    for garbled in (b"\0", b"x"):
        data = before + last[: newline - 9] + garbled * 10 + last[newline + 1 :]
        assert scan(data).problem == TornTail(len(before), "the checksum does not match")
        assert isinstance(scan(data + chunks[4]).problem, Damage)
    glued = before + last[:newline] + last[newline + 1 :]
    assert isinstance(scan(glued).problem, Damage)


@pytest.mark.parametrize("filler", [b"\0", b"a"], ids=["nothing", "digits"])
def test_a_hundred_megabytes_of_nothing_are_seen_through_at_once(chunks: tuple[bytes, ...], filler: bytes) -> None:
    data = chunks[0] + filler * (100 << 20)
    begun = time.process_time()
    assert scan(data).problem == TornTail(len(chunks[0]), "the line does not end")
    assert mend(data, lambda _: None).data == chunks[0]
    assert holds_nothing(data[len(chunks[0]) :]) == (filler == b"\0")
    # byte by byte it takes minutes, with a regular expression half a minute
    assert time.process_time() - begun < 2


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_bytes_can_be_scanned_and_no_unit_is_invented(
    units: Units, chunks: tuple[bytes, ...], data: st.DataObject
) -> None:
    pieces = st.sampled_from([*chunks, *b"".join(chunks).splitlines(keepends=True)]) | st.binary(max_size=30)
    found = scan(b"".join(data.draw(st.lists(pieces, max_size=8))))
    assert found.units == units[: len(found.units)]


def test_a_lost_sector_inside_the_last_write_is_a_torn_tail(units: Units, chunks: tuple[bytes, ...]) -> None:
    first, second, third = chunks[1].splitlines(keepends=True)
    torn = b"\0" * len(second)
    data = chunks[0] + first + torn[:-1] + b"\n" + third
    assert scan(data) == whole(units, chunks, 1, TornTail(len(chunks[0]), "the checksum does not match"))
    data = chunks[0] + torn[:-1] + b"\n" + second + third
    assert scan(data) == whole(units, chunks, 1, TornTail(len(chunks[0]), "the checksum does not match"))


def test_a_bad_record_before_a_valid_write_is_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    data = chunks[0] + chunks[1].replace(b"tool_calls", b"tool_cells") + chunks[2]
    assert scan(data) == whole(units, chunks, 1, Damage(len(chunks[0]), "the checksum does not match"))


def test_two_records_with_one_revision_are_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    data = chunks[0] + chunks[1] + chunks[1]
    offset = len(chunks[0] + chunks[1])
    assert scan(data) == whole(units, chunks, 2, Damage(offset, "revision 4 stands where 7 belongs"))


def test_a_fork_of_the_journal_is_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    stranger, _ = encode_unit(units[2], 0xBEEF)
    data = chunks[0] + chunks[1] + stranger
    offset = len(chunks[0] + chunks[1])
    assert scan(data) == whole(units, chunks, 2, Damage(offset, "it does not follow the record before it"))


def test_a_copied_half_record_is_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    half = chunks[0][:100]
    reason = "the checksum does not match"
    for rest in (chunks[1], chunks[1] + chunks[2]):
        for glue in (b"\n", b""):
            assert scan(chunks[0] + half + glue + rest) == whole(units, chunks, 1, Damage(len(chunks[0]), reason))


def test_a_half_record_copied_between_those_of_the_last_write_is_damage(
    units: Units, chunks: tuple[bytes, ...]
) -> None:
    first, second, third = chunks[1].splitlines(keepends=True)
    data = chunks[0] + first + second[:30] + b"\n" + second + third
    problem = Damage(len(chunks[0] + first), "the checksum does not match")
    assert scan(data) == whole(units, chunks, 1, problem)


def test_a_glued_line_is_damage_even_at_the_end(units: Units, chunks: tuple[bytes, ...]) -> None:
    reason = "the checksum does not match"
    for glued in (chunks[1][:40] + chunks[4], chunks[4][:-1] + chunks[4], chunks[4][:-1] + chunks[4][:40] + b"\n"):
        data = b"".join(chunks[:4])
        assert scan(data + glued) == whole(units, chunks, 4, Damage(len(data), reason))


def test_a_write_that_lacks_a_record_is_torn_at_the_end_and_damage_before_another(
    units: Units, chunks: tuple[bytes, ...]
) -> None:
    first, second, third = chunks[1].splitlines(keepends=True)
    torn = TornTail(len(chunks[0]), "a record of the last write is missing")
    assert scan(chunks[0] + first + second) == whole(units, chunks, 1, torn)
    hole = Damage(len(chunks[0] + first), "revision 6 stands where 5 belongs")
    assert scan(chunks[0] + first + third) == whole(units, chunks, 1, hole)
    stranger, _ = encode_unit(units[2], int(first[:8], 16))
    assert isinstance(scan(chunks[0] + first + stranger).problem, Damage)


def test_a_record_of_another_write_is_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    first, _, _ = chunks[1].splitlines(keepends=True)
    lone, _ = encode_unit(units[1][1:2], int(first[:8], 16))
    problem = Damage(len(chunks[0] + first), "it belongs to another write than its place says")
    assert scan(chunks[0] + first + lone) == whole(units, chunks, 1, problem)


def test_a_newer_record_after_a_bad_one_makes_it_damage(units: Units, chunks: tuple[bytes, ...]) -> None:
    payload = b'{"v":2}'
    newer = b"%08x %b\n" % (zlib.crc32(payload), payload)
    problem = Damage(len(chunks[0]), "the checksum does not match")
    assert scan(chunks[0] + b"bad\n" + newer) == whole(units, chunks, 1, problem)
    assert scan(chunks[0] + newer).problem == NewerVersion(len(chunks[0]), "format version 2")


@pytest.mark.parametrize("revision", [1, 41])
def test_a_journal_may_begin_at_any_revision(units: Units, revision: int) -> None:
    unit = tuple(Record(revision + index, each.at, each.data) for index, each in enumerate(units[0]))
    data, crc = encode_unit(unit, 0)
    assert scan(data) == Scan((unit,), End(len(data), crc, revision + 2), None)
