"""What a damaged journal becomes: its whole records in one chain again, without what stands between them.

Whole units are kept. From the first bad byte on the next record is sought that continues the chain exactly, by its
revision, by the CRC of the record before it and by the bounds of its unit, wherever in a line it begins. What nothing
continues is set aside. The bytes of a record are taken as they stand: nothing is written anew.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from abey.protocol.journal import Record
from abey.runtime.store.codec import Entry, Newer, decode
from abey.runtime.store.scan import End, record_starts
from abey.runtime.store.spelling import Carried, carry

Follow = Callable[[Sequence[Record]], str | None]
"""Takes the next unit, and says why it cannot follow the ones before it, or None; called once a unit, in order."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of the old journal, from `start` to `end`, that the new one lacks."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mended:
    """The new journal, from revision `first` up to `end`.

    `lost` are the revisions that can be read in the gaps and are not in it; `certain`: nothing was lost at all.
    `refused`: why a unit that continues the chain may not follow. `newer` names a record of a newer version: then
    nothing may be mended here.
    """

    data: bytes
    first: int
    end: End
    gaps: tuple[Gap, ...]
    lost: tuple[int, ...]
    certain: bool
    refused: str | None = None
    newer: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A whole record: its bytes, from `start` to `end`, have no newline at their end."""

    start: int
    end: int
    entry: Entry


def mend(data: bytes, follow: Follow) -> Mended:
    """The journal that can be made of these bytes. Raises nothing, whatever they are."""
    found: list[_Found] = []
    newer: str | None = None
    for start, end, decoded in _records(data):
        match decoded:
            case Entry():
                found.append(_Found(start, end, decoded))
            case Newer(reason):
                newer = newer or f"byte {start}: {reason}"
    chain = _Chain(data, found)
    refused = chain.grow(follow)
    gaps = _gaps(data, chain.kept)
    lost, certain = _losses(found, chain.kept, gaps)
    lines = b"".join(data[one.start : one.end] + b"\n" for one in chain.kept)
    first = chain.kept[0].entry.rev if chain.kept else 0
    last = chain.kept[-1].entry if chain.kept else None
    whole = End(len(lines), last.crc, last.rev, chain.carried) if last is not None else End()
    return Mended(lines, first, whole, gaps, lost, certain, refused, newer)


class _Chain:
    """The records that continue each other from the first one on, whole units only."""

    def __init__(self, data: bytes, found: Sequence[_Found]) -> None:
        self.kept: list[_Found] = []
        self.carried: Carried = {}
        self._data = data
        self._after: dict[tuple[int, str], list[_Found]] = {}
        self._firsts = [one for one in found if one.entry.prev == "00000000"]
        for one in found:
            self._after.setdefault((one.entry.rev, one.entry.prev), []).append(one)

    def grow(self, follow: Follow) -> str | None:
        """Adds every unit that continues the chain; why one that does may not follow ends it, if one may not."""
        while unit := self._next_unit():
            carried = dict(self.carried)
            refused = self._refused(unit, carried, follow)
            if refused is not None:
                return refused
            self.kept += unit
            self.carried = carried
        return None

    def _refused(self, unit: Sequence[_Found], carried: Carried, follow: Follow) -> str | None:
        """Only in its place does a record say all: it is read once more there."""
        records: list[Record] = []
        for one in unit:
            found = decode(self._data[one.start : one.end], carried=carried)
            if not isinstance(found, Entry):
                return found.reason
            carry(found.record.data, carried)
            records.append(found.record)
        return follow(records)

    def _next_unit(self) -> list[_Found]:
        begins = self._following(self.kept[-1]) if self.kept else self._firsts
        tried: set[int] = set()
        for one in begins:
            # where one copy of a record has not the rest of its unit behind it, a later copy has not either
            if one.entry.crc not in tried and (unit := self._unit(one)):
                return unit
            tried.add(one.entry.crc)
        return []

    def _unit(self, first: _Found) -> list[_Found]:
        """The whole unit that begins with `first`, empty where it has no end."""
        entry = first.entry
        unit = [first] if entry.rev == entry.first <= entry.last else []
        while unit and unit[-1].entry.rev < entry.last:
            rest = self._following(unit[-1])
            bounds = (entry.first, entry.last)
            one = next((one for one in rest if (one.entry.first, one.entry.last) == bounds), None)
            unit = [*unit, one] if one is not None else []
        return unit

    def _following(self, before: _Found) -> Sequence[_Found]:
        """The records that continue the one before and stand behind it."""
        all_of_them = self._after.get((before.entry.rev + 1, f"{before.entry.crc:08x}"), [])
        return all_of_them[bisect_left(all_of_them, before.end, key=lambda one: one.start) :]


def _losses(found: Sequence[_Found], kept: Sequence[_Found], gaps: Sequence[Gap]) -> tuple[tuple[int, ...], bool]:
    """The revisions that can be read and are not kept, and whether no other one can be missing either."""
    crcs = {one.entry.rev: one.entry.crc for one in kept}
    taken = {one.start for one in kept}
    left = [one for one in found if one.start not in taken]
    lost = tuple(sorted({one.entry.rev for one in left if crcs.get(one.entry.rev) != one.entry.crc}))
    end = kept[-1].end if kept else 0
    return lost, not lost and all(_is_copies(gap, left) for gap in gaps if gap.start >= end)


def _gaps(data: bytes, kept: Sequence[_Found]) -> tuple[Gap, ...]:
    gaps: list[Gap] = []
    place = 0
    for one in kept:
        if one.start > place:
            gaps.append(Gap(place, one.start))
        place = one.end + (data[one.end : one.end + 1] == b"\n")
    if place < len(data):
        gaps.append(Gap(place, len(data)))
    return tuple(gaps)


def _is_copies(gap: Gap, copies: Sequence[_Found]) -> bool:
    """Whether the gap holds nothing but whole records that are kept elsewhere."""
    return sum(one.end - one.start + 1 for one in copies if gap.start <= one.start < gap.end) == gap.end - gap.start


def _records(data: bytes) -> Iterator[tuple[int, int, object]]:
    """(start, end, what is there) of all that may be a record, in order; end is where its newline is, or belongs.

    A last record without a newline is none: the write of it has not ended.
    """
    for start, following in pairwise([*record_starts(data), len(data)]):
        newline = data.find(b"\n", start, following)
        if newline < 0 and following == len(data):
            return
        end = following if newline < 0 else newline
        decoded = decode(data[start:end])
        if not isinstance(decoded, Entry | Newer):
            end = start + 9 + _json_bytes(data[start + 9 : end])
            decoded = decode(data[start:end])
        yield start, end, decoded


_DECODER = json.JSONDecoder()


def _json_bytes(text: bytes) -> int:
    """How many bytes the JSON value has that `text` begins with; 0 where it begins with none."""
    try:
        return _DECODER.raw_decode(text.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return 0
