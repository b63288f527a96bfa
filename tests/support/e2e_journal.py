"""A reader of journals of its own, from journal.md alone: it shares no code with the one that writes them."""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CARRIED = {
    "model-requested": ("turnId", "configHash", "drivenBy"),
    "candidate": ("turnId", "stepId", "invocationId"),
    "model-failed": ("turnId", "stepId", "invocationId"),
    "compacted": ("turnId", "invocationId"),
    "call-decided": ("configHash",),
    "tool-results": ("turnId", "stepId"),
    "waiting": ("turnId", "stepId", "drivenBy"),
    "final": ("turnId", "stepId"),
    "cancelled": ("turnId",),
    "failed": ("turnId",),
}
"""The members with a star in journal.md: absent, they are what the last record with one of that name says."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record and its bytes, newline included; what it carried is in the record, too."""

    raw: bytes
    crc: str
    record: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.record["type"])

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.record["data"]
        return data


def read(path: Path) -> list[Line]:
    """Every record; fails where the file is not as journal.md says."""
    lines = [_line(raw) for raw in path.read_bytes().splitlines(keepends=True)]
    _complete(lines)
    seed = next((line.record["data"]["seed"] for line in lines[1:2] if line.type == "seeded"), {})
    rev, crc = seed.get("revision", 0), "00000000"
    for line in lines:
        assert (line.record["rev"], line.record["prev"]) == (rev + 1, crc), line
        rev, crc = line.record["rev"], line.crc
    for unit in grouped(lines):
        revs = [line.record["rev"] for line in unit]
        spans = {(line.record["first"], line.record["last"]) for line in unit}
        assert spans == {(revs[0], revs[-1])}
    return lines


def _complete(lines: list[Line]) -> None:
    """Puts into every record what its line leaves out."""
    said: dict[str, str] = {}
    for line in lines:
        wanted = CARRIED.get(line.type, ())
        line.data.update({name: said[name] for name in wanted if name not in line.data and name in said})
        said |= {name: line.data[name] for names in CARRIED.values() for name in names if name in line.data}
        if "client" in line.data:
            _complete_client(line.data["client"], said)
        if line.type == "call-decided" and "runnable" not in line.data:
            _complete_verdict(line.data)


def _complete_client(client: dict[str, str], said: dict[str, str]) -> None:
    for name in ("kind", "name"):
        told = f"{name} of the client"
        said[told] = client[name] = client[name] if name in client else said[told]


def _complete_verdict(data: dict[str, Any]) -> None:
    disposition, rule = data["disposition"], data.get("rule") or {}
    if isinstance(disposition, dict) and "reason" in disposition:
        data.setdefault("reason", disposition["reason"])
    if "tool" in rule:
        rule.setdefault("disposition", disposition)


def units(path: Path) -> list[list[Line]]:
    """The records by the write they were part of."""
    return grouped(read(path))


def grouped(lines: list[Line]) -> list[list[Line]]:
    found: list[list[Line]] = []
    for line in lines:
        if line.record["rev"] == line.record["first"]:
            found.append([])
        found[-1].append(line)
    return found


def types(path: Path) -> list[list[str]]:
    """The types of the records, write by write."""
    return [[line.type for line in unit] for unit in units(path)]


def _line(raw: bytes) -> Line:
    assert raw.isascii(), raw
    assert raw.endswith(b"\n"), raw
    crc, space, body = raw[:8].decode(), raw[8:9], raw[9:-1]
    assert (crc, space) == (f"{zlib.crc32(body):08x}", b" ")
    record = json.loads(body, parse_constant=_refuse)
    keys = list(record)
    assert keys == sorted(keys)
    optional = {"ignorable", "blobs", "request", "outcomes"}
    assert set(keys) - optional == {"v", "rev", "first", "last", "prev", "at", "type", "data"}
    assert record["v"] == 1
    return Line(raw, crc, record)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
