"""Whether records from elsewhere tell of a session that can have been: what is trusted once it is in a journal here."""

import re
from collections.abc import Iterator, Sequence

from abey.core.edits import IllegalRecord
from abey.core.invariants import BrokenInvariant, check
from abey.core.machine import Machine
from abey.core.replay import fold, recover
from abey.errors import InvalidSeed
from abey.protocol import journal as j
from abey.protocol.base import sha256_hex
from abey.runtime.clock import millis_of
from abey.runtime.transfer.agents_exe import read_session_file
from abey.runtime.transfer.cursor import read_json
from abey.shared.escaping import escape_line

_HASH = re.compile(r"[0-9a-f]{64}\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z", re.ASCII)


def check_story(file: str, records: Sequence[j.Record]) -> None:
    """Raises InvalidSeed where the records are none, or tell what cannot have been: each with its revision."""
    fault = next(_faults(records), None)
    if fault is not None:
        raise InvalidSeed(f"{escape_line(file)}: {escape_line(fault)}")


def _faults(records: Sequence[j.Record]) -> Iterator[str]:
    if not records:
        yield "it holds no record of a session"
        return
    first = records[0].data
    if not isinstance(first, j.Created):
        yield f"a session begins with created, not with {first.type}"
        return
    if sha256_hex(first.config) != first.config_hash:
        yield "the agent config of created is not the one of its hash"
    for record in records:
        yield from (f"revision {record.rev}: {fault}" for fault in _record_faults(record))
    yield from _fold_faults(records)


def _record_faults(record: j.Record) -> Iterator[str]:
    data = record.data
    times = [record.at, *([data.expires_at] if isinstance(data, j.CallDecided) and data.expires_at else [])]
    yield from (f"{time!r} is no time" for time in times if not _is_time(time))
    if isinstance(data, j.CallFinished) and data.whole is not None and not _HASH.match(data.whole.sha256):
        yield f"{data.whole.sha256!r} is no SHA-256"
    if isinstance(data, j.Imported):
        yield from _original_faults(data)


def _original_faults(data: j.Imported) -> Iterator[str]:
    """What is told of the file that the session was once made from has to be such a file, unless its blob is lost."""
    if data.records is not None and data.records < 0:
        yield f"{data.records} is no number of records"
    if data.format == "agents-exe" and data.original is not None and data.original.lstrip().startswith("{"):
        try:
            read_session_file(read_json(data.source, data.original))
        except InvalidSeed as error:
            yield error.message


def _is_time(text: str) -> bool:
    try:
        return bool(_TIME.match(text)) and millis_of(text) is not None
    except ValueError:
        return False


def _fold_faults(records: Sequence[j.Record]) -> Iterator[str]:
    try:
        session = fold(records)
    except IllegalRecord as error:
        yield str(error)
        return
    except (KeyError, TypeError, ValueError) as error:
        yield f"the records do not make a session: {error}"
        return
    ids = [call.call_id for record in records if isinstance(record.data, j.Candidate) for call in record.data.calls]
    if len(ids) != len(set(ids)):
        yield "two calls have the same id"
    if session is not None:
        try:
            check(Machine(recover(session)))
        except BrokenInvariant as error:
            yield str(error)
