"""What the bytes of a journal hold: units that are whole, and the first thing that is wrong (journal.md, Recovery)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import assert_never

from abey.protocol.journal import Record
from abey.runtime.store.codec import RECORD_LIMIT, Entry, Foreign, Garbled, Newer, decode
from abey.runtime.store.references import Fetch, no_blobs
from abey.runtime.store.spelling import Carried, carry


@dataclass(frozen=True, slots=True)
class End:
    """Where the last whole unit ends: its byte, the CRC of its last record, its revision (0: there is none), and what
    the records up to there say for those that follow."""

    size: int = 0
    crc: int = 0
    revision: int = 0
    carried: Carried = field(default_factory=dict, compare=False)


NOTHING = End()


@dataclass(frozen=True, slots=True)
class TornTail:
    """The last write, from `offset` on, is not whole: it may be cut off (R1)."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Damage:
    """The record at `offset` is not what was written there: nothing may be cut off (R2)."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class NewerVersion:
    """The record at `offset` is a newer version's (R3)."""

    offset: int
    reason: str


Problem = TornTail | Damage | NewerVersion


@dataclass(frozen=True, slots=True)
class Scan:
    """The whole units before the first problem. `lost` are the texts in them that stand for blobs that could not be
    had: where a blob is lost, nothing is wrong with the journal."""

    units: tuple[tuple[Record, ...], ...]
    end: End
    problem: Problem | None
    lost: tuple[str, ...] = ()


def scan(data: bytes, after: End = NOTHING, fetch: Fetch = no_blobs) -> Scan:
    """Reads a journal from the unit that ends at `after` up to its first problem. Raises nothing, whatever the bytes
    are."""
    units: list[tuple[Record, ...]] = []
    unit: list[Entry] = []
    lost: list[str] = []
    end = after
    carried = dict(after.carried)
    offset = after.size
    while offset < len(data):
        newline = data.find(b"\n", offset)
        found = decode(data[offset:newline], fetch, carried) if newline >= 0 else Garbled("the line does not end")
        entry = _place(found, unit, end)
        if not isinstance(entry, Entry):
            return Scan(tuple(units), end, _problem(data, offset, entry, unit, end), tuple(lost))
        unit.append(entry)
        carry(entry.record.data, carried)
        offset = newline + 1
        if entry.rev == entry.last:
            units.append(tuple(each.record for each in unit))
            lost += chain.from_iterable(each.lost for each in unit)
            end = End(offset, entry.crc, entry.rev, dict(carried))
            unit = []
    missing = TornTail(end.size, "a record of the last write is missing") if unit else None
    return Scan(tuple(units), end, missing, tuple(lost))


def _place(
    found: Entry | Garbled | Newer | Foreign, unit: Sequence[Entry], end: End
) -> Entry | Garbled | Newer | Foreign:
    """`found`, or what is wrong with an entry after the entries of `unit`, which stand after `end`."""
    if not isinstance(found, Entry):
        return found
    before = unit[-1].rev if unit else end.revision
    crc = unit[-1].crc if unit else end.crc
    bounds = (unit[0].first, unit[0].last) if unit else (found.rev, found.last)
    if before and found.rev != before + 1:
        return Foreign(f"revision {found.rev} stands where {before + 1} belongs")
    if found.prev != f"{crc:08x}":
        return Foreign("it does not follow the record before it")
    if (found.first, found.last) != bounds or found.rev > found.last:
        return Foreign("it belongs to another write than its place says")
    return found


def _problem(
    data: bytes, offset: int, found: Garbled | Newer | Foreign, unit: Sequence[Entry], end: End
) -> TornTail | Damage | NewerVersion:
    match found:
        case Newer(reason):
            return NewerVersion(offset, reason)
        case Foreign(reason):
            return Damage(offset, reason)
        case Garbled(reason):
            before = unit[-1].rev if unit else end.revision
            later = tuple(_later_entries(data, offset))
            # a journal may begin at any revision, and then only what is left of its first write tells at which
            missing = before + 1 if before or not later or later[0] is None else later[0].first
            first = unit[0].first if unit else missing
            if all(each and each.first == first and each.rev > missing for each in later):
                return TornTail(end.size, reason)
            return Damage(offset, reason)
        case _:
            assert_never(found)


def holds_nothing(data: bytes) -> bool:
    """Whether there is no byte but NUL: what a file system leaves where nothing was written."""
    return data == bytes(len(data))


def record_starts(data: bytes, offset: int = 0) -> Iterator[int]:
    """Where, from `offset` on, something begins as a record does. Nothing inside one does: a quote is escaped there,
    and a space stands only in strings."""
    # a pattern of digits would try every byte of a hundred megabytes of NULs, and the daemon would stand still
    found = data.find(b' {"', offset + 8)
    while found >= 0:
        if _CRC.fullmatch(data, found - 8, found):
            yield found - 8
        found = data.find(b' {"', found + 1)


_CRC = re.compile(rb"[0-9a-f]{8}")


def _later_entries(data: bytes, offset: int) -> Iterator[Entry | None]:
    """Every valid record from `offset` on; None for what no torn write can hold.

    The sectors of a write reach the disk in any order: later records of the torn write itself may stand after its bad
    one, the newline between them overwritten, too. A whole record glued to another one is no torn write: bytes do not
    go missing.
    """
    for start in record_starts(data, offset):
        line = data.rfind(b"\n", 0, start) + 1
        newline = data.find(b"\n", start, start + RECORD_LIMIT)
        entry = decode(data[start:newline]) if newline >= 0 else Garbled("the line does not end")
        if line < start and not isinstance(decode(data[line:start]), Garbled):
            yield None
        elif not isinstance(entry, Garbled):
            yield entry if isinstance(entry, Entry) else None
