r"""A record is a line, `<crc32 of the JSON, 8 hex digits> <JSON>\n`; a unit is what one write holds (journal.md)."""

import json
import zlib
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from pydantic import Field, StrictBool, StrictInt, ValidationError

from abey.errors import TooLarge
from abey.protocol.base import Json, Wire
from abey.protocol.journal import FORMAT_VERSION, RECORD_TYPES, KeyedOutcome, KeyedRequest, Record, RecordData, Skipped
from abey.runtime.store.nesting import NESTING_LIMIT, nesting
from abey.runtime.store.references import BLOB_ABOVE, Deflater, Fetch, inflate, json_text, no_blobs
from abey.runtime.store.spelling import Carried, carry, deflated, fill, spelled
from abey.shared.values import dataclass

RECORD_LIMIT = 1 << 20
"""Bytes of a line, its newline included."""

CROWDED_ABOVE = 1024
"""Bytes that a value may have in a line that would be above the limit with values of BLOB_ABOVE."""


def encode_unit(
    records: Sequence[Record], prev: int, blobs: dict[str, bytes] | None = None, carried: Carried | None = None
) -> tuple[bytes, int]:
    """The bytes of one write, and the CRC of its last record; `prev` is the CRC of the record before (0: none).

    `blobs` gets what the lines refer to, by hash; it must be durable before the bytes are written. `carried` is what
    the records before say, and then what these do; without it nothing before them counts.
    Raises TooLarge for a record above a limit; ValueError for revisions that do not follow each other, for NaN and
    Infinity, and for a large value where there are no `blobs`.
    """
    unit = _Unit(records[0].rev, records[-1].rev, {} if carried is None else carried)
    lines: list[bytes] = []
    contents: dict[str, bytes] = {}
    for rev, record in enumerate(records, unit.first):
        if record.rev != rev:
            raise ValueError("the revisions of a unit do not follow each other")
        payload = _payload(record, unit, prev, contents)
        carry(record.data, unit.carried)
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


def decode(
    line: bytes, fetch: Fetch = no_blobs, carried: Mapping[str, str] | None = None
) -> Entry | Garbled | Newer | Foreign:
    """What a line, without its newline, holds. `carried` is what the records before it say: without it, what the line
    does not say itself is empty."""
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
    return _entry(envelope, crc, fetch, carried)


def _entry(envelope: "_Envelope", crc: int, fetch: Fetch, carried: Mapping[str, str] | None) -> Entry | Newer | Foreign:
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
        fill(kind, envelope.data, carried)
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


@dataclass(frozen=True, slots=True)
class _Unit:
    """The bounds of a unit, and what the records before the next one say."""

    first: int
    last: int
    carried: Carried


def _payload(record: Record, unit: _Unit, prev: int, blobs: dict[str, bytes]) -> bytes:
    try:
        payload = _json(record, unit, prev, spelled(record.data, unit.carried))
        documents: Sequence[bytes] = ()
        if len(payload) > BLOB_ABOVE:  # else nothing in it can be large
            payload, documents = _thinned(record, unit, prev, blobs)
    except RecursionError:
        raise _nests_too_deep(record.data.type) from None
    for one in (payload, *documents):
        if nesting(one) > NESTING_LIMIT:
            raise _nests_too_deep(record.data.type)
    return payload


def _thinned(record: Record, unit: _Unit, prev: int, blobs: dict[str, bytes]) -> tuple[bytes, Sequence[bytes]]:
    """The same, the large values in `blobs`, and those of these that are JSON."""
    deflater, payload = _deflated(record, unit, prev, BLOB_ABOVE)
    if _size(payload) > RECORD_LIMIT:
        deflater, payload = _deflated(record, unit, prev, CROWDED_ABOVE)
    size = _size(payload)
    if size > RECORD_LIMIT:
        message = f"a record {record.data.type} of {size} bytes is larger than {RECORD_LIMIT} bytes"
        raise TooLarge(message, record=record.data.type, bytes=size, limit=RECORD_LIMIT)
    blobs.update(deflater.blobs)
    return payload, deflater.documents


def _deflated(record: Record, unit: _Unit, prev: int, above: int) -> tuple[Deflater, bytes]:
    deflater = Deflater(above)
    data = deflated(record.data, unit.carried, deflater)
    return deflater, _json(record, unit, prev, data, sorted(deflater.pointers))


def _json(record: Record, unit: _Unit, prev: int, data: Json, pointers: Sequence[str] = ()) -> bytes:
    """The keys in their order; few records have all of them."""
    blobs = f'"blobs":{json_text(pointers)},' if pointers else ""
    ignorable = '"ignorable":true,' if record.data.ignorable else ""
    outcomes = f'"outcomes":{json_text([one.wire() for one in record.outcomes])},' if record.outcomes else ""
    request = f'"request":{json_text(dict(sorted(record.request.wire().items())))},' if record.request else ""
    text = (
        f'{{"at":{encode_basestring_ascii(record.at)},{blobs}"data":{json_text(data)},"first":{unit.first},{ignorable}'
        f'"last":{unit.last},{outcomes}"prev":"{prev:08x}",{request}"rev":{record.rev},'
        f'"type":"{record.data.type}","v":{FORMAT_VERSION}}}'
    )
    return text.encode("ascii")


def _size(payload: bytes) -> int:
    return len(payload) + len(b"00000000 \n")


def _nests_too_deep(kind: str) -> TooLarge:
    return TooLarge(f"a record {kind} nests deeper than {NESTING_LIMIT} levels", record=kind, limit=NESTING_LIMIT)
