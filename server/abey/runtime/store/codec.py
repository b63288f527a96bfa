r"""A record is a line, `<crc32 of the JSON, 8 hex digits> <JSON>\n`; a unit is what one write holds (journal.md)."""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, StrictBool, StrictInt, ValidationError

from abey.errors import TooLarge
from abey.protocol.base import Wire
from abey.protocol.journal import FORMAT_VERSION, RECORD_TYPES, KeyedOutcome, KeyedRequest, Record, RecordData, Skipped
from abey.runtime.store.references import BLOB_ABOVE, Deflater, Fetch, inflate, no_blobs
from abey.runtime.store.spelling import spelled

RECORD_LIMIT = 1 << 20
"""Bytes of a line, its newline included."""

CROWDED_ABOVE = 1024
"""Bytes that a value may have in a line that would be above the limit with values of BLOB_ABOVE."""

NESTING_LIMIT = 256
"""Levels of arrays and objects in a record: fewer than any reader's stack can hold."""


def encode_unit(records: Sequence[Record], prev: int, blobs: dict[str, bytes] | None = None) -> tuple[bytes, int]:
    """The bytes of one write, and the CRC of its last record; `prev` is the CRC of the record before (0: none).

    `blobs` gets what the lines refer to, by hash; it must be durable before the bytes are written.
    Raises TooLarge for a record above a limit; ValueError for revisions that do not follow each other, for NaN and
    Infinity, and for a large value where there are no `blobs`.
    """
    first, last = records[0].rev, records[-1].rev
    if [record.rev for record in records] != list(range(first, last + 1)):
        raise ValueError("the revisions of a unit do not follow each other")
    lines, contents = [], dict[str, bytes]()
    for record in records:
        payload = _payload(record, first, last, prev, contents)
        prev = zlib.crc32(payload)
        lines.append(b"%08x %b\n" % (prev, payload))
    if blobs is not None:
        blobs.update(contents)
    elif contents:
        raise ValueError("a value is too large for its line, and there is no place for blobs")
    return b"".join(lines), prev


@dataclass(frozen=True, slots=True)
class Entry:
    """A whole record and its place. `lost` are the texts that stand in it for blobs that could not be had."""

    rev: int
    first: int
    last: int
    prev: str
    crc: int
    record: Record
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Garbled:
    """The line is not what somebody once wrote."""

    reason: str


@dataclass(frozen=True, slots=True)
class Newer:
    """The line is whole, and a newer version wrote it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """The line is whole, and no version of ours wrote it."""

    reason: str


def decode(line: bytes, fetch: Fetch = no_blobs) -> Entry | Garbled | Newer | Foreign:
    """What a line, without its newline, holds."""
    payload = line[9:]
    crc = zlib.crc32(payload)
    # compared as text: int() would take upper case, signs and underscores
    if line[:9] != b"%08x " % crc:
        return Garbled("the checksum does not match")
    try:
        value = _DECODER.decode(payload.decode("ascii"))
    except (ValueError, RecursionError):
        return Foreign("not the JSON of a record")
    version = value.get("v") if isinstance(value, dict) else None
    if type(version) is int and version > FORMAT_VERSION:
        return Newer(f"format version {version}")
    try:
        envelope = _Envelope.model_validate(value)
    except ValidationError as error:
        return _refusal(error, "record")
    return _entry(envelope, crc, fetch)


def _entry(envelope: "_Envelope", crc: int, fetch: Fetch) -> Entry | Newer | Foreign:
    kind = RECORD_TYPES.get(envelope.type)
    if kind is None and not envelope.ignorable:
        return Newer(f"unknown record type {envelope.type}")
    lost: tuple[str, ...] = ()
    data: RecordData = Skipped()
    if kind is not None:
        try:
            lost = inflate(envelope.data, envelope.blobs, fetch)
        except ValueError as error:
            return Foreign(f"not a valid {envelope.type}: {error}")
        try:
            data = kind.model_validate(envelope.data)
        except ValidationError as error:
            return _refusal(error, envelope.type)
    record = Record(envelope.rev, envelope.at, data, envelope.request, envelope.outcomes)
    return Entry(envelope.rev, envelope.first, envelope.last, envelope.prev, crc, record, lost)


class _Envelope(Wire):
    """The keys of a record."""

    v: StrictInt = Field(ge=1)
    rev: StrictInt = Field(ge=1)
    first: StrictInt
    last: StrictInt
    prev: str
    at: str
    type: str
    data: dict[str, Any]
    blobs: tuple[str, ...] = ()
    ignorable: StrictBool = False
    request: KeyedRequest | None = None
    outcomes: tuple[KeyedOutcome, ...] = ()


def _refusal(error: ValidationError, what: str) -> Newer | Foreign:
    """A member we do not know is a newer version's (a new member is optional); anything else is nobody's."""
    problems = error.errors(include_url=False, include_input=False)
    where = ".".join(str(part) for part in problems[0]["loc"])
    if all(problem["type"] == "extra_forbidden" for problem in problems):
        return Newer(f"unknown member {where} of {what}")
    return Foreign(f"not a valid {what}: {where}: {problems[0]['msg']}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _payload(record: Record, first: int, last: int, prev: int, blobs: dict[str, bytes]) -> bytes:
    kind = record.data.type
    deflater, payload = _deflated(record, first, last, prev, BLOB_ABOVE)
    if _size(payload) > RECORD_LIMIT:
        deflater, payload = _deflated(record, first, last, prev, CROWDED_ABOVE)
    size = _size(payload)
    if size > RECORD_LIMIT:
        message = f"a record {kind} of {size} bytes is larger than {RECORD_LIMIT} bytes"
        raise TooLarge(message, record=kind, bytes=size, limit=RECORD_LIMIT)
    if max(map(_nesting, (payload, *deflater.documents))) > NESTING_LIMIT:
        raise _nests_too_deep(kind)
    blobs.update(deflater.blobs)
    return payload


def _deflated(record: Record, first: int, last: int, prev: int, above: int) -> tuple[Deflater, bytes]:
    deflater = Deflater(above)
    try:
        envelope: dict[str, Any] = {
            "at": record.at,
            "data": spelled(record.data, deflater),
            "first": first,
            "last": last,
            "prev": f"{prev:08x}",
            "rev": record.rev,
            "type": record.data.type,
            "v": FORMAT_VERSION,
        }
        envelope = dict(sorted((envelope | _rare(record, deflater)).items()))
        payload = json.dumps(envelope, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except RecursionError:
        raise _nests_too_deep(record.data.type) from None
    return deflater, payload.encode("ascii")


def _rare(record: Record, deflater: Deflater) -> dict[str, Any]:
    """The keys that few records have."""
    rare: dict[str, Any] = {"blobs": sorted(deflater.pointers)} if deflater.pointers else {}
    if record.data.ignorable:
        rare["ignorable"] = True
    if record.request is not None:
        rare["request"] = dict(sorted(record.request.wire().items()))
    if record.outcomes:
        rare["outcomes"] = [one.wire() for one in record.outcomes]
    return rare


def _size(payload: bytes) -> int:
    return len(b"%08x %b\n" % (0, payload))


def _nests_too_deep(kind: str) -> TooLarge:
    return TooLarge(f"a record {kind} nests deeper than {NESTING_LIMIT} levels", record=kind, limit=NESTING_LIMIT)


_BRACKET_OR_STRING = re.compile(rb'[\[{\]}]|"[^"\\]*(?:\\.[^"\\]*)*"')


def _nesting(payload: bytes) -> int:
    """How many levels of arrays and objects the JSON has, or fewer than NESTING_LIMIT where that is plain to see."""
    if payload.count(b"[") + payload.count(b"{") <= NESTING_LIMIT:
        return 0
    deepest = level = 0
    for found in _BRACKET_OR_STRING.finditer(payload):
        match found[0]:
            case b"[" | b"{":
                level += 1
                deepest = max(deepest, level)
            case b"]" | b"}":
                level -= 1
    return deepest
