"""Which format a file has, and what it holds."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from abey.errors import InvalidArguments, InvalidSeed
from abey.protocol import journal as j
from abey.protocol.base import Json, sha256_hex
from abey.protocol.upkeep import Format
from abey.runtime.store.blobs import blobs_of, read_blob
from abey.runtime.store.io import FileIO
from abey.runtime.store.references import BlobLost
from abey.runtime.store.scan import scan
from abey.runtime.transfer.agents_exe import SessionFile, read_session_file
from abey.runtime.transfer.cursor import read_json
from abey.runtime.transfer.files import read_file
from abey.runtime.transfer.jsonl import Journalled, config_hashes, read_lines, refused
from abey.runtime.transfer.story import check_story
from abey.shared.escaping import escape_line

_RAW = re.compile(rb"[0-9a-f]{8} \{")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A session file of agents-exe and its text."""

    file: SessionFile
    text: str


def read_source(io: FileIO, path: Path, format: Format | None) -> Journalled | Foreign:
    """What a client wants imported; without `format` the file says what it is. A journal is taken as it lies in its
    session's folder, with the blobs beside it.

    Raises InvalidArguments where the path, or its format, cannot be read; InvalidSeed, which says where it is wrong.
    """
    data = read_file(io, path).removeprefix(_BOM)
    match format or _format_of(path, data):
        case "agents-exe":
            text = _text(path.name, data)
            return Foreign(read_session_file(read_json(path.name, text)), text)
        case "jsonl" if _RAW.match(data):
            return _journal(io, path, data)
        case "jsonl":
            return read_lines(path.name, data)
        case _:
            message = "a markdown document is for people, and cannot be imported; jsonl and agents-exe can"
            raise InvalidArguments(message, errors=["format is export only"])


def _format_of(path: Path, data: bytes) -> Format:
    if _RAW.match(data):
        return "jsonl"
    if not data.lstrip().startswith(b"{"):
        if data.startswith(b"# "):
            return "markdown"
        message = f"{escape_line(path.name)} is neither JSON nor JSON lines; say its format"
        raise InvalidArguments(message, errors=["path has no format that is known"])
    try:
        first = json.loads(data[: data.find(b"\n") + 1] or data)
    except (ValueError, RecursionError):
        return "agents-exe"
    return "jsonl" if isinstance(first, dict) and "v" in first else "agents-exe"


def _text(file: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSeed(f"{escape_line(file)}: byte {error.start + 1} is no UTF-8") from None


def _journal(io: FileIO, path: Path, data: bytes) -> Journalled:
    """A journal. Raises InvalidSeed where it is torn or damaged: the session that it is of can be repaired first."""
    found = scan(data, fetch=blobs_of(io, path.parent))
    if found.problem is not None:
        line = data.count(b"\n", 0, found.problem.offset) + 1
        raise refused(path.name, line, f"{found.problem.reason}; nothing of it was imported")
    records = tuple(record for unit in found.units for record in unit)
    check_story(path.name, records)
    return Journalled(list(records), dict(_configs(io, path, records)), dict(_wholes(io, path.parent, records)))


def _wholes(io: FileIO, session: Path, records: Sequence[j.Record]) -> Iterator[tuple[str, bytes]]:
    """The whole outputs that lie beside the journal; one that does not is missing here, too."""
    for record in records:
        whole = record.data.whole if isinstance(record.data, j.CallFinished) else None
        if whole is not None:
            with suppress(BlobLost):
                yield whole.sha256, read_blob(io, session, whole, 0, whole.bytes)


def _configs(io: FileIO, path: Path, records: Sequence[j.Record]) -> Iterator[tuple[str, Json]]:
    """The agent configs of the state directory that the journal lies in, as far as it lies in one."""
    folder = path.parent.parent.parent / "configs"
    for config_hash in config_hashes(records):
        with suppress(OSError, ValueError, RecursionError):
            config = json.loads(io.read(folder / f"{config_hash}.json"))
            if isinstance(config, dict) and sha256_hex(config) == config_hash:
                yield config_hash, config
