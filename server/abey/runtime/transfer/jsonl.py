"""A session as JSON lines that need nothing beside them: records as the journal has them, large values in their place.

Lines of two kinds stand between the records: an agent config by its hash, and a whole output by its SHA-256. The last
line says that it is the last: a file that was cut between two lines is not whole.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from abey.errors import InvalidSeed
from abey.protocol import journal as j
from abey.protocol.base import Json, sha256_hex
from abey.runtime.transfer.cursor import strict_json
from abey.runtime.transfer.story import check_story
from abey.shared.escaping import escape_line

CONFIG = "config"
WHOLE = "whole"
END = "end"

_HASH = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Journalled:
    """What a file of JSON lines, or a journal, holds: records in order, configs by hash, whole outputs by SHA-256."""

    records: list[j.Record] = field(default_factory=list)
    configs: dict[str, Json] = field(default_factory=dict)
    wholes: dict[str, bytes] = field(default_factory=dict)

    @property
    def created(self) -> j.Created:
        """The first record."""
        first = self.records[0].data
        if not isinstance(first, j.Created):
            raise ValueError("a session begins with created")
        return first


def export_lines(
    records: Sequence[j.Record], config: Callable[[str], Json], whole: Callable[[j.BlobRef], bytes | None]
) -> Iterator[bytes]:
    """The lines, newlines included; each config and each whole output stands before the first record that needs it.

    `config` and `whole` find them; where they come to None there is no line.
    """
    later = config_hashes(records)
    told: set[str] = set()
    for record in records:
        data = record.data
        needed = _config_hash(data)
        if needed in later and needed not in told:
            told.add(needed)
            found = config(needed)
            if found is not None:
                yield _line({"v": j.FORMAT_VERSION, "type": CONFIG, "hash": needed, "config": found})
        blob = data.whole if isinstance(data, j.CallFinished) else None
        if blob is not None and blob.sha256 not in told:
            told.add(blob.sha256)
            content = whole(blob)
            if content is not None:
                text = base64.b64encode(content).decode("ascii")
                yield _line({"v": j.FORMAT_VERSION, "type": WHOLE, "sha256": blob.sha256, "base64": text})
        yield _line({"v": j.FORMAT_VERSION, "rev": record.rev, "at": record.at, "type": data.type, "data": data.wire()})
    yield _line({"v": j.FORMAT_VERSION, "type": END, "last": records[-1].rev})


def config_hashes(records: Sequence[j.Record]) -> tuple[str, ...]:
    """The agent configs that the records name beside the one that `created` holds, in order."""
    first = records[0].data if records else None
    own = first.config_hash if isinstance(first, j.Created) else None
    named = dict.fromkeys(_config_hash(record.data) for record in records[1:])
    return tuple(one for one in named if one is not None and one != own and _HASH.match(one))


def read_lines(file: str, data: bytes) -> Journalled:
    """What such a file holds. Raises InvalidSeed, which names the line: half a line, a hole, what no session can do."""
    lines = data.split(b"\n")
    if lines.pop():
        raise refused(file, len(lines) + 1, "the line does not end: the file is not whole")
    held, kind = Journalled(), None
    for number, line in enumerate(lines, 1):
        value = _value(file, number, line)
        kind = value.get("type")
        if kind != END:
            _take(file, number, value, held)
        elif number < len(lines) or not held.records or value.get("last") != held.records[-1].rev:
            raise refused(file, number, "this is not where the session ends: the file is not whole")
    if kind != END:
        raise refused(file, len(lines) + 1, "the line `end` is missing: the file is not whole")
    check_story(file, held.records)
    return held


def _take(file: str, number: int, value: Mapping[str, Any], held: Journalled) -> None:
    match value.get("type"):
        case "config":
            held.configs.update(_config(file, number, value))
        case "whole":
            held.wholes.update(_whole(file, number, value))
        case _:
            held.records.append(_record(file, number, value))
            _follows(file, number, held.records)


def refused(file: str, line: int, fact: str) -> InvalidSeed:
    return InvalidSeed(f"{escape_line(file)}:{line}: {fact}", line=line)


def _config_hash(data: j.RecordData) -> str | None:
    return data.config_hash if isinstance(data, j.ModelRequested | j.CallDecided) else None


def _line(value: Mapping[str, Json]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _value(file: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = strict_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise refused(file, number, f"byte {error.start + 1} is no UTF-8") from None
    except ValueError as error:
        raise refused(file, number, str(error)) from None
    if not isinstance(value, dict):
        raise refused(file, number, "it is no JSON object")
    version = value.get("v")
    if type(version) is not int or version < 1:
        raise refused(file, number, "it has no format version `v`")
    if version > j.FORMAT_VERSION:
        raise refused(file, number, f"format version {version} is newer than {j.FORMAT_VERSION}, the newest known here")
    return value


def _record(file: str, number: int, value: Mapping[str, Any]) -> j.Record:
    kind = j.RECORD_TYPES.get(str(value.get("type")))
    rev, at = value.get("rev"), value.get("at")
    if kind is None:
        raise refused(file, number, f"there is no record of type {escape_line(str(value.get('type')))}")
    if type(rev) is not int or rev < 1 or not isinstance(at, str):
        raise refused(file, number, "a record has a revision `rev` and a time `at`")
    try:
        return j.Record(rev, at, kind.model_validate(value.get("data")))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise refused(file, number, f"not a valid {kind.type}: {escape_line(where)}: {problem['msg']}") from None


def _follows(file: str, number: int, records: Sequence[j.Record]) -> None:
    """The last record is in its place."""
    if len(records) == 1:
        if not isinstance(records[0].data, j.Created):
            raise refused(file, number, f"a session begins with created, not with {records[0].data.type}")
    elif records[-1].rev != records[-2].rev + 1:
        raise refused(file, number, f"revision {records[-1].rev} stands where {records[-2].rev + 1} belongs")


def _config(file: str, number: int, value: Mapping[str, Any]) -> dict[str, Json]:
    config_hash, config = value.get("hash"), value.get("config")
    if not isinstance(config_hash, str) or not isinstance(config, dict) or sha256_hex(config) != config_hash:
        raise refused(file, number, "the agent config is not the one of its hash")
    return {config_hash: config}


def _whole(file: str, number: int, value: Mapping[str, Any]) -> dict[str, bytes]:
    try:
        content = base64.b64decode(str(value.get("base64")), validate=True)
    except binascii.Error as error:
        raise refused(file, number, f"the whole output is no base64: {error}") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != value.get("sha256"):
        raise refused(file, number, "the whole output is not the one of its SHA-256")
    return {digest: content}
