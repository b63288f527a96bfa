"""A session as the bytes of a file, in one of the formats; reads the disk and disturbs nobody."""

from collections.abc import Iterator
from dataclasses import dataclass

from abey.core.agent import Agent
from abey.core.edits import IllegalRecord
from abey.core.replay import apply
from abey.core.session import Session
from abey.errors import AbeyError, SessionDamaged
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.upkeep import Format
from abey.runtime.store.store import Store
from abey.runtime.transfer.agents_exe_export import export_text
from abey.runtime.transfer.jsonl import export_lines
from abey.runtime.transfer.markdown import export_document


@dataclass(frozen=True, slots=True)
class Exported:
    """The bytes in pieces, and what of the session is not in them, for people."""

    pieces: Iterator[bytes]
    notes: tuple[str, ...]


def export(store: Store, session_id: str, agent: Agent | None, format: Format) -> Exported:
    """The session as it is on disk now. Raises UnknownSession; SessionDamaged where nothing of it can be read."""
    found = store.read(session_id)
    session, records = _followed(tuple(record for unit in found.units for record in unit))
    if session is None:
        reason = found.problem.reason if found.problem else "the journal is empty"
        raise SessionDamaged(f"nothing of session {session_id} can be read: {reason}", sessionId=session_id)
    notes = [] if found.problem is None else [f"damaged at byte {found.problem.offset}: {found.problem.reason}"]
    notes += ["written only as far as the records can be followed"] if records[-1].rev < found.end.revision else []
    skipped = sum(isinstance(record.data, j.Skipped) for record in records)
    notes += [f"what a newer version recorded, and this one skips: {skipped}"] if skipped else []
    notes += [f"missing or damaged blobs: {len(found.lost)}"] if found.lost else []
    match format:
        case "jsonl":
            return _lines(store, session_id, records, notes)
        case "markdown":
            # half a character, as some model sent it, has no bytes: it is spelled out
            document = (piece.encode("utf-8", "backslashreplace") for piece in export_document(session, records))
            return Exported(document, tuple(notes))
        case "agents-exe":
            queued = sum(one.delivery != "interrupt" for one in session.queue)
            notes += [f"queued inputs, which have no place in this format: {queued}"] if queued else []
            return Exported(iter((export_text(session, records, agent).encode("utf-8"),)), tuple(notes))


def _followed(records: tuple[j.Record, ...]) -> tuple[Session | None, tuple[j.Record, ...]]:
    """The session as far as its records can be followed, and the records so far."""
    session: Session | None = None
    for index, record in enumerate(records):
        try:
            session = apply(session, record)
        except IllegalRecord:
            return session, records[:index]
    return session, records


def _lines(store: Store, session_id: str, records: tuple[j.Record, ...], notes: list[str]) -> Exported:
    wholes = [record.data.whole for record in records if isinstance(record.data, j.CallFinished) and record.data.whole]
    lost = [blob.sha256 for blob in wholes if _whole(store, session_id, blob) is None]
    notes = notes + ([f"missing or damaged whole outputs: {len(lost)}"] if lost else [])
    lines = export_lines(records, lambda one: _config(store, one), lambda blob: _whole(store, session_id, blob))
    return Exported(lines, tuple(notes))


def _config(store: Store, config_hash: str) -> Json:
    try:
        return store.load_config(config_hash)
    except AbeyError:  # the file goes without it: who imports it is told if it is needed
        return None


def _whole(store: Store, session_id: str, blob: j.BlobRef) -> bytes | None:
    try:
        return store.read_blob(session_id, blob, 0, blob.bytes)
    except AbeyError:  # a missing blob is missing in the file, too, and the note says so
        return None
